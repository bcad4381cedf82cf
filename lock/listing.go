package lock

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The limits of a host, which bound a listing.
const (
	MaxPage        = 16 << 20 // bytes of one response
	MaxListing     = 64 << 20 // bytes of all responses of a listing
	MaxDefinitions = 10_000   // definitions of a listing, refused ones included
	MaxPages       = 1_000    // responses of a listing
	MaxBundles     = 64       // bundles taken from _meta
	MaxBundle      = 1 << 20  // bytes of one bundle
)

// AttestationKey is the key in the _meta of a list result under which a
// server may send Sigstore bundles, as an array.
const AttestationKey = "io.github.mcpsign/attestation"

// A Listing is what a server listed: all pages of all kinds. It is input, not
// a judgement.
type Listing struct {
	Definitions []Definition // sorted by kind, name
	Refused     []Refused    // sorted likewise; these have no digest, or share their name
	Bundles     [][]byte     // found under AttestationKey: candidates, unverified
	Kinds       []Kind       // sorted; those listed whole: answered, and the last page names no next one
	Partial     []Kind       // sorted; those of which the last page is missing: each page names a next one

	// What the server says of itself. It decides nothing. Of a server without a
	// handshake the version is the newest that it supports.
	ServerName, ServerVersion, ProtocolVersion string
}

// A Refused is a definition that can't be pinned, signed or allowed.
type Refused struct {
	Kind  Kind
	Name  string // empty if it could not be read; what is no Unicode in it reads as U+FFFD
	Index int    // position among the definitions of its kind in the listing, from 0
	Err   *DigestError
}

// A ResponseError is a JSON-RPC error that stands where a listing should. The
// error "method not found" is none: the server has no definitions of the kind.
type ResponseError struct {
	Code    string // the error's number, canonical
	Message string // the server's text
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("the server answered with error %s: %s", e.Code, Visible(e.Message))
}

const methodNotFound = "-32601"

// ParseListing reads a listing. Each argument holds one or more JSON texts
// (JSON lines, say), and each text is one of
//
//   - a JSON-RPC response to initialize, server/discover, tools/list,
//     prompts/list or resources/templates/list,
//   - the result of such a response, {"tools": [...]}, beside whose members may
//     stand initialize, with the response to initialize or its result (in the
//     response as in the bare result),
//   - an array of tools.
//
// Together they are one listing. A page that repeats an earlier one, with the
// cursor of its next page, is the end of its kind. A definition without a digest, and every copy
// of one whose kind and name occur twice, is in Refused. An error concerns the
// envelope (*DigestError with the place in its argument, *ResponseError) and
// there is no listing. Texts without any of tools, prompts, resourceTemplates
// and instructions are an error, an empty array is none; a member called like
// one of these but for the case of its letters is an error too.
func ParseListing(responses ...[]byte) (*Listing, error) {
	p := &listingParser{counts: make(map[Kind]int), whole: make(map[Kind]bool), ended: make(map[Kind]bool)}
	total := 0
	for _, data := range responses {
		if total += len(data); total > MaxListing {
			return nil, tooLarge("listing", MaxListing)
		}
		if err := p.texts(data); err != nil {
			return nil, asDigestError(err)
		}
	}
	if !p.found {
		return nil, errors.New("no tools, prompts, resourceTemplates or instructions in the listing")
	}
	p.settle()
	return &p.listing, nil
}

func tooLarge(what string, limit int) error {
	return &DigestError{Code: TooLarge, Detail: fmt.Sprintf("%s of more than %d MiB", what, limit>>20)}
}

// asDigestError turns an error of the reader into one of this package.
func asDigestError(err error) error {
	if e := (*canonical.Error)(nil); errors.As(err, &e) {
		return digestError(e)
	}
	return err
}

// Digest returns the digest of the whole listing: SHA-256 over the RFC 8785
// form of an array of ["kind:name","sha256:..."] pairs, sorted. It is an error
// if any definition is refused or there is none.
func (l *Listing) Digest() (Digest, error) {
	if len(l.Refused) > 0 {
		return Digest{}, fmt.Errorf("no listing digest: %d definitions are refused", len(l.Refused))
	}
	if len(l.Definitions) == 0 {
		return Digest{}, errors.New("no listing digest: the listing is empty")
	}
	return SurfaceDigest(func(yield func(string, Digest) bool) {
		for _, d := range l.Definitions {
			if !yield(d.ID(), d.digest) {
				return
			}
		}
	}), nil
}

// SurfaceDigest returns the digest of a listing that has exactly these
// definitions: their IDs, sorted by kind and name, and their digests. See
// Listing.Digest.
func SurfaceDigest(definitions iter.Seq2[string, Digest]) Digest {
	b := []byte{'['}
	for id, d := range definitions {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = canonical.AppendString(append(b, '['), id)
		b = append(append(append(b, `,"`...), d.String()...), `"]`...)
	}
	return sha256.Sum256(append(b, ']'))
}

// ToolSetDigest returns SHA-256 over the RFC 8785 form of the array of the
// tools' digests, sorted by name. It is an error if a tool is refused or there
// is none.
func (l *Listing) ToolSetDigest() (Digest, error) {
	for _, r := range l.Refused {
		if r.Kind == Tool {
			return Digest{}, fmt.Errorf("no tool set digest: tool %s is refused", Visible(r.Name))
		}
	}
	b := []byte{'['}
	for _, d := range l.Definitions {
		if d.kind == Tool {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, '"'), d.digest.String()...), '"')
		}
	}
	if len(b) == 1 {
		return Digest{}, errors.New("no tool set digest: the listing has no tools")
	}
	return sha256.Sum256(append(b, ']')), nil
}
