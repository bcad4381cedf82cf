// Package lock turns the bytes an MCP server sent into definitions with
// digests, and keeps those that were approved in a lockfile.
//
// # The definition digest
//
// A definition is what a server says about one tool, prompt or resource
// template, or its instructions. Its digest is
//
//	SHA-256(RFC 8785(the object exactly as received, without its top-level _meta))
//
// written "sha256:" and 64 lower-case hexadecimal digits. No newline is hashed:
//
//	mcpsign digest --canonical tool:echo listing.json | sha256sum
//
// prints the same value. Members nobody knows count, so do the order of
// arrays and the difference between absent, null and empty; white space, the
// order of members, the spelling of strings and numbers do not. Instructions
// are hashed as {"instructions":"..."}.
//
// For example, the tool
//
//	{"name": "echo", "inputSchema": {"type": "object"}, "_meta": {"v": 1}}
//
// has the canonical form
//
//	{"inputSchema":{"type":"object"},"name":"echo"}
//
// and the digest
//
//	sha256:a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723
//
// What has no digest (a repeated member, a number that rounds to 2^53 or more,
// broken Unicode ...) can't be pinned, signed or allowed; a DigestError says
// why. testdata/vectors has cases of all of this.
//
// # The lockfile
//
// mcpsign.lock.json is JSON with an indentation of two spaces, members in the
// order below, servers sorted by name, pins by kind, name and variant; hidden
// characters are escaped, and a newline ends it. It has no other spelling:
// Parse accepts what Format writes and nothing else.
//
//	{
//	  "version": 1,
//	  "servers": [
//	    {
//	      "name": "io.github.acme/weather",
//	      "source": {                      how it was launched, absent if the listing came from files
//	        "client": "cursor/weather",    absent unless a host's configuration names the rest
//	        "command": ["npx", "weather"], or "url"
//	        "cwd": "sub",                  of the command, as that configuration writes it, absent if it sets none
//	        "env": ["ACME_TOKEN"]          names alone, absent if there are none; so are "headers" of a URL
//	        "artifacts": [                 what the command launched, as it was read there, absent if it was not
//	          {"purl": "pkg:npm/weather@1.4.2", or "file", "digest": {"sha512": HEX}}
//	        ]
//	      },
//	      "info": {...},                   the server's own name, version and protocolVersion, absent if empty
//	      "signed": [                      absent if nothing is signed
//	        {
//	          "variant": "linux",          absent if empty
//	          "sequence": 7,
//	          "signer": {"key": DIGEST}    or root and subject, or issuer, subject, repository, repositoryID
//	          "bundle": DIGEST,            of the bundle's bytes
//	          "trust": [DIGEST]            of the keys (PKIX), roots (DER) and trusted roots it was verified with
//	        }
//	      ],
//	      "pins": [
//	        {
//	          "kind": "tool",
//	          "name": "get_forecast",      absent for instructions
//	          "variant": "linux",          absent if empty
//	          "unsigned": true,            absent if a signature of its variant covers it
//	          "digest": DIGEST,            computed again when the file is read
//	          "meta": DIGEST,              of the canonical _meta, absent if there is none
//	          "definition": {...}          the canonical object
//	        }
//	      ]
//	    }
//	  ]
//	}
//
// The package does no I/O, reads no clock and links no signing code.
package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A Kind is what a definition defines.
type Kind string

const (
	Instructions     Kind = "instructions"     // the server's instructions; has no name
	Prompt           Kind = "prompt"           // named by name
	ResourceTemplate Kind = "resourceTemplate" // named by uriTemplate
	Tool             Kind = "tool"             // named by name
)

// Kinds lists all kinds in their order.
func Kinds() []Kind { return []Kind{Instructions, Prompt, ResourceTemplate, Tool} }

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	return k == Instructions || k == Prompt || k == ResourceTemplate || k == Tool
}

// naming returns the member that names a definition of the kind.
func (k Kind) naming() string {
	if k == ResourceTemplate {
		return "uriTemplate"
	}
	return "name"
}

// ID returns "kind:name", as a statement's subject spells it.
func ID(k Kind, name string) string { return string(k) + ":" + name }

// ParseID undoes ID. The name may be empty for instructions only.
func ParseID(id string) (Kind, string, error) {
	k, name, ok := strings.Cut(id, ":")
	kind := Kind(k)
	if !ok || !kind.Valid() || (name == "") != (kind == Instructions) {
		return "", "", fmt.Errorf("%s is no definition: want instructions:, tool:NAME, prompt:NAME or resourceTemplate:URI", Visible(id))
	}
	return kind, name, nil
}

// A Digest is a SHA-256. The zero Digest identifies nothing.
type Digest [sha256.Size]byte

// String returns d as "sha256:" and 64 lower-case hexadecimal digits.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// Hex returns the 64 digits alone, as in-toto writes them.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether d identifies nothing.
func (d Digest) IsZero() bool { return d == Digest{} }

// Compare orders digests as their hexadecimal digits do.
func (d Digest) Compare(e Digest) int { return bytes.Compare(d[:], e[:]) }

// ParseDigest parses what String writes and nothing else.
func ParseDigest(s string) (Digest, error) {
	hexits, ok := strings.CutPrefix(s, "sha256:")
	if !ok {
		return Digest{}, fmt.Errorf("digest %s is not of the form sha256:HEX", Visible(s))
	}
	return ParseHex(hexits)
}

// ParseHex parses 64 lower-case hexadecimal digits. The digest of nothing,
// all zeros, is refused.
func ParseHex(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) || strings.ToLower(s) != s {
		return Digest{}, fmt.Errorf("digest %s is not 64 lower-case hexadecimal digits", Visible(s))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil || d.IsZero() {
		return Digest{}, fmt.Errorf("digest %s is not the hexadecimal form of a SHA-256", Visible(s))
	}
	return d, nil
}

// A Code says why a definition has no digest. Codes are stable; those but
// DuplicateName concern the definition's own bytes.
type Code string

const (
	NumberOutOfRange = Code(canonical.NumberOutOfRange) // outside of _meta: not finite, or the double's magnitude is >= 2^53
	DuplicateKey     = Code(canonical.DuplicateKey)     // two members of one name, after unescaping
	InvalidUTF8      = Code(canonical.InvalidUTF8)
	LoneSurrogate    = Code(canonical.LoneSurrogate) // an escape that is half of a pair
	BOM              = Code(canonical.BOM)           // a byte order mark before the text
	Syntax           = Code(canonical.Syntax)        // no JSON, or not the envelope that is expected
	TrailingData     = Code(canonical.TrailingData)  // bytes after the value
	NotAnObject      = Code(canonical.NotAnObject)
	MissingName      = Code(canonical.MissingName) // absent, empty, or no string
	TooDeep          = Code(canonical.TooDeep)     // more than 64 levels
	TooLarge         = Code(canonical.TooLarge)    // see MaxPage, MaxListing; 1 MiB for a definition
	TooMany          = Code(canonical.TooMany)     // see MaxDefinitions, MaxPages; 10,000 for the members of an object
	DuplicateName    = Code("duplicate_name")      // another definition of the kind has the name
)

// A DigestError says why bytes have no digest, and where.
type DigestError struct {
	Code    Code
	Pointer string // RFC 6901, from the definition (ParseDefinition, Refused) or the text (ParseListing)
	Offset  int    // in bytes, from the definition's first one (Refused) or of the bytes given
	Detail  string // for people, may be empty; holds no text of the input
}

func (e *DigestError) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Pointer != "" {
		b.WriteString(" at " + Visible(e.Pointer))
	}
	if e.Code != DuplicateName {
		fmt.Fprintf(&b, " (byte %d)", e.Offset)
	}
	return b.String()
}

func digestError(e *canonical.Error) *DigestError {
	return &DigestError{Code: Code(e.Code), Pointer: e.Pointer, Offset: e.Offset, Detail: e.Detail}
}

// A Definition is one definition with its digest. Only parsers make one. The
// zero Definition defines nothing and has the zero Digest.
type Definition struct {
	kind   Kind
	name   string
	form   []byte
	digest Digest
	meta   Digest
	raw    []byte // as received, for CrossCheck; nil for instructions and pins
}

// Kind returns what d defines.
func (d Definition) Kind() Kind { return d.kind }

// Name returns the name, as decoded from JSON: it is the server's text and
// may hold anything. Instructions have none.
func (d Definition) Name() string { return d.name }

// ID returns "kind:name".
func (d Definition) ID() string { return ID(d.kind, d.name) }

// Digest returns the definition digest.
func (d Definition) Digest() Digest { return d.digest }

// Canonical returns the bytes that are hashed, which must not be changed.
func (d Definition) Canonical() []byte { return d.form }

// MetaDigest returns the SHA-256 of the canonical form of the top-level _meta,
// in which numbers out of range stay as spelled; zero if there is none. It is
// no part of the definition digest.
func (d Definition) MetaDigest() Digest { return d.meta }

// ParseDefinition reads one definition from its bytes as received, of at most
// 64 levels and 1 MiB, which bounds the canonical form too; white space around
// it does not count. Instructions are given as {"instructions": "..."}. The
// error is a *DigestError, but for a kind that is not known.
func ParseDefinition(k Kind, raw []byte) (Definition, error) {
	if !k.Valid() {
		return Definition{}, fmt.Errorf("kind %s is not known", Visible(string(k)))
	}
	r := canonical.NewReader(raw)
	r.Peek()
	start := r.Offset()
	if len(bytes.TrimRight(raw[start:], " \t\r\n")) > canonical.MaxSize {
		return Definition{}, &DigestError{Code: TooLarge, Offset: start, Detail: fmt.Sprintf("more than %d bytes", canonical.MaxSize)}
	}
	d, refused, err := readDefinition(r, k)
	if err == nil && refused == nil {
		err = r.End()
	}
	if err != nil {
		return Definition{}, asDigestError(err)
	}
	if refused != nil {
		refused.Offset += start
		return Definition{}, digestError(refused)
	}
	return d, nil
}

// readDefinition reads the next value of r as a definition. A refused one has
// its name, if it could be read, and nothing else.
func readDefinition(r *canonical.Reader, k Kind) (Definition, *canonical.Error, error) {
	if k == Instructions {
		return readInstructions(r)
	}
	r.Peek()
	start := r.Offset()
	c, refused, err := r.Definition(k.naming())
	if err != nil {
		return Definition{}, nil, err
	}
	d := Definition{kind: k}
	if len(c.Name) > 0 {
		d.name = canonical.Unquote(c.Name)
	}
	if refused != nil {
		return d, refused, nil
	}
	d.form, d.digest = bytes.Clone(c.Canonical), sha256.Sum256(c.Canonical)
	d.raw = r.Since(start)
	if c.Meta != nil {
		d.meta = sha256.Sum256(c.Meta)
	}
	return d, nil, nil
}

// readInstructions reads {"instructions": "..."}.
func readInstructions(r *canonical.Reader) (Definition, *canonical.Error, error) {
	d, seen := Definition{kind: Instructions}, false
	var refused *canonical.Error
	first, start := r.Peek(), r.Offset()
	if first != '{' {
		if err := r.Skip(); err != nil {
			return d, nil, err
		}
		return d, &canonical.Error{Code: canonical.NotAnObject}, nil
	}
	err := r.Object(func(name string) (err error) {
		if name != "instructions" {
			return r.Fail(canonical.Syntax, "only the member instructions is expected")
		}
		seen = true
		r.Peek()
		at := r.Offset()
		if d, refused, err = wrapInstructions(r); refused != nil {
			refused.Offset += at - start
		}
		return err
	})
	if err == nil && !seen {
		refused = &canonical.Error{Code: canonical.MissingName, Pointer: "/instructions"}
	}
	return d, refused, err
}

// wrapInstructions reads the instructions string.
func wrapInstructions(r *canonical.Reader) (Definition, *canonical.Error, error) {
	text, refused, err := r.Text()
	d := Definition{kind: Instructions}
	if err != nil || refused != nil {
		if refused != nil {
			refused.Pointer = "/instructions"
		}
		return d, refused, err
	}
	d.form = append(append([]byte(`{"instructions":`), text...), '}')
	d.digest = sha256.Sum256(d.form)
	return d, nil, nil
}
