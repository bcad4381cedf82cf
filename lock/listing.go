package lock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

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
//     stand initialize, with the response to initialize or its result,
//   - an array of tools.
//
// Together they are one listing. A definition without a digest, and every copy
// of one whose kind and name occur twice, is in Refused. An error concerns the
// envelope (*DigestError with the place in its argument, *ResponseError) and
// there is no listing. Texts without any of tools, prompts, resourceTemplates
// and instructions are an error, an empty array is none; a member called like
// one of these but for the case of its letters is an error too.
func ParseListing(responses ...[]byte) (*Listing, error) {
	p := &listingParser{counts: make(map[Kind]int), whole: make(map[Kind]bool)}
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

type listingParser struct {
	listing Listing
	read    []entry
	found   bool // a member that holds definitions, or instructions
	pages   int
	counts  map[Kind]int
	whole   map[Kind]bool // kinds whose last page was the last
	here    []Kind        // kinds that the text being read answers
	more    bool          // the text being read names a next page
}

// An entry is a definition of the listing before duplicates are known.
type entry struct {
	Definition
	index int
}

// texts reads all JSON texts in data.
func (p *listingParser) texts(data []byte) error {
	for rest := data; ; {
		if p.pages++; p.pages > MaxPages {
			return &DigestError{Code: TooMany, Detail: fmt.Sprintf("more than %d responses", MaxPages)}
		}
		page := rest[:min(len(rest), MaxPage)]
		r := canonical.NewReader(page)
		if err := p.text(r); err != nil {
			var e *canonical.Error
			if errors.As(err, &e) {
				if e.Offset >= MaxPage && len(rest) > MaxPage {
					return tooLarge("response", MaxPage)
				}
				e.Offset += len(data) - len(rest)
			}
			return err
		}
		rest = bytes.TrimLeft(rest[r.Offset():], " \t\r\n")
		if len(rest) == 0 {
			return nil
		}
	}
}

// text reads one JSON text.
func (p *listingParser) text(r *canonical.Reader) error {
	if r.Peek() == '[' {
		p.whole[Tool] = true
		return p.definitions(r, Tool)
	}
	p.here, p.more = p.here[:0], false
	if err := p.message(r, true); err != nil {
		return err
	}
	for _, k := range p.here {
		p.whole[k] = !p.more
	}
	return nil
}

// message reads a JSON-RPC response or a result. Beside definitions a result may
// have the answer to initialize, in either form.
func (p *listingParser) message(r *canonical.Reader, outer bool) error {
	var result, failed, bare bool
	var rpc ResponseError
	err := r.Object(func(name string) error {
		switch name {
		case "jsonrpc", "id":
			return r.Skip()
		case "result":
			result = true
			return r.Object(func(name string) error { return p.member(r, name) })
		case "error":
			failed = true
			return readRPCError(r, &rpc)
		case "initialize":
			if bare = true; outer {
				return p.message(r, false)
			}
		}
		bare = true
		return p.member(r, name)
	})
	switch {
	case err != nil:
		return err
	case result && failed || (result || failed) && bare:
		return r.Fail(canonical.Syntax, "result, error and definitions exclude each other")
	case failed && rpc.Code != methodNotFound:
		return &rpc
	}
	return nil
}

func readRPCError(r *canonical.Reader, e *ResponseError) error {
	return r.Object(func(name string) (err error) {
		switch name {
		case "code":
			e.Code, err = r.Number()
		case "message":
			e.Message, err = r.String()
		default:
			err = r.Skip()
		}
		return err
	})
}

// member reads one member of a result.
func (p *listingParser) member(r *canonical.Reader, name string) (err error) {
	switch name {
	case "tools":
		return p.definitions(r, Tool)
	case "prompts":
		return p.definitions(r, Prompt)
	case "resourceTemplates":
		return p.definitions(r, ResourceTemplate)
	case "instructions":
		d, refused, err := wrapInstructions(r)
		if err != nil {
			return err
		}
		p.found = true
		p.here = append(p.here, Instructions)
		p.add(d, refused)
		return nil
	case "nextCursor":
		p.more = r.Peek() != 'n' // null is as good as absent
		return r.Skip()
	case "protocolVersion":
		p.here = append(p.here, Instructions)
		p.listing.ProtocolVersion, err = optionalString(r)
	case "supportedVersions": // of server/discover
		p.here = append(p.here, Instructions)
		return p.supportedVersions(r)
	case "serverInfo":
		p.here = append(p.here, Instructions)
		return p.serverInfo(r)
	case canonical.MetaMember:
		return p.meta(r)
	default:
		if err := checkSpelling(r, name); err != nil {
			return err
		}
		return r.Skip()
	}
	return err
}

// checkSpelling refuses a member whose name is that of a member which holds
// definitions, or leads to them, but for the case. Some JSON libraries (Go's
// encoding/json is one) take it for that member: a host would read what nobody
// decided on.
func checkSpelling(r *canonical.Reader, name string) error {
	for _, known := range []string{"result", "tools", "prompts", "resourceTemplates", "instructions"} {
		if strings.EqualFold(name, known) && name != known {
			return r.Fail(canonical.Syntax, "another spelling of "+known)
		}
	}
	return nil
}

// optionalString reads a value and returns it if it is a string.
func optionalString(r *canonical.Reader) (string, error) {
	if r.Peek() != '"' {
		return "", r.Skip()
	}
	return r.String()
}

// supportedVersions reads the protocol versions that a server without a
// handshake supports. They are dates: the newest is the greatest.
func (p *listingParser) supportedVersions(r *canonical.Reader) error {
	if r.Peek() != '[' {
		return r.Skip()
	}
	return r.Array(func(int) error {
		v, err := optionalString(r)
		p.listing.ProtocolVersion = max(p.listing.ProtocolVersion, v)
		return err
	})
}

func (p *listingParser) serverInfo(r *canonical.Reader) error {
	if r.Peek() != '{' {
		return r.Skip()
	}
	return r.Object(func(name string) (err error) {
		switch name {
		case "name":
			p.listing.ServerName, err = optionalString(r)
		case "version":
			p.listing.ServerVersion, err = optionalString(r)
		default:
			err = r.Skip()
		}
		return err
	})
}

// meta reads the _meta of a result.
func (p *listingParser) meta(r *canonical.Reader) error {
	if r.Peek() != '{' {
		return r.Skip()
	}
	return r.Object(func(name string) error {
		switch {
		case name == "io.modelcontextprotocol/serverInfo":
			return p.serverInfo(r)
		case name != AttestationKey || r.Peek() != '[':
			return r.Skip()
		}
		return r.Array(func(int) error {
			b, err := r.Raw()
			if err == nil && len(b) <= MaxBundle && len(p.listing.Bundles) < MaxBundles {
				p.listing.Bundles = append(p.listing.Bundles, b)
			}
			return err
		})
	})
}

func (p *listingParser) definitions(r *canonical.Reader, k Kind) error {
	p.found = true
	p.here = append(p.here, k)
	return r.Array(func(int) error {
		d, refused, err := readDefinition(r, k)
		if err != nil {
			return err
		}
		if len(p.read)+len(p.listing.Refused) == MaxDefinitions {
			return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d definitions", MaxDefinitions))
		}
		p.add(d, refused)
		return nil
	})
}

func (p *listingParser) add(d Definition, refused *canonical.Error) {
	i := p.counts[d.kind]
	p.counts[d.kind]++
	if refused != nil {
		p.listing.Refused = append(p.listing.Refused, Refused{d.kind, d.name, i, digestError(refused)})
		return
	}
	p.read = append(p.read, entry{d, i})
}

// settle sorts the listing and refuses every definition whose kind and name
// are another's as well, be that one refused already or not.
func (p *listingParser) settle() {
	l := &p.listing
	slices.SortStableFunc(p.read, func(a, b entry) int { return compareDefinitions(a.Definition, b.Definition) })
	refused := make(map[string]bool, len(l.Refused))
	for _, r := range l.Refused {
		refused[ID(r.Kind, r.Name)] = r.Name != "" || r.Kind == Instructions
	}
	same := func(i, j int) bool {
		return j >= 0 && j < len(p.read) && compareDefinitions(p.read[i].Definition, p.read[j].Definition) == 0
	}
	for _, k := range Kinds() {
		if p.whole[k] {
			l.Kinds = append(l.Kinds, k)
		}
	}
	l.Definitions = make([]Definition, 0, len(p.read))
	for i, e := range p.read {
		if same(i, i-1) || same(i, i+1) || len(refused) > 0 && refused[e.ID()] {
			err := &DigestError{Code: DuplicateName, Detail: "the listing has several of this kind and name"}
			l.Refused = append(l.Refused, Refused{e.kind, e.name, e.index, err})
			continue
		}
		l.Definitions = append(l.Definitions, e.Definition)
	}
	slices.SortStableFunc(l.Refused, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), a.Index-b.Index)
	})
}

func compareDefinitions(a, b Definition) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
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
