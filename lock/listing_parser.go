package lock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

type listingParser struct {
	listing Listing
	read    []entry
	found   bool // a member that holds definitions, or instructions
	pages   int
	counts  map[Kind]int
	whole   map[Kind]bool // kinds whose last page was the last
	ended   map[Kind]bool // kinds that were listed: whether a page was the last
	cursors []cursor
	here    []Kind // kinds that the text being read answers
	more    bool   // the text being read names a next page
	next    string // and with this cursor
}

// A cursor is what a page names the next one by, and what that page has.
type cursor struct {
	kind    Kind
	value   string
	read    []entry
	refused []Refused
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
		p.whole[Tool], p.ended[Tool] = true, true
		return p.definitions(r, Tool)
	}
	p.here, p.more, p.next = p.here[:0], false, ""
	read, refused := len(p.read), len(p.listing.Refused)
	if err := p.message(r, true); err != nil {
		return err
	}
	lists := slices.DeleteFunc(slices.Clone(p.here), func(k Kind) bool { return k == Instructions })
	if p.more && len(lists) == 1 {
		p.more = !p.repeats(lists[0], read, refused)
	}
	for _, k := range p.here {
		p.whole[k] = !p.more || k == Instructions
		p.ended[k] = p.ended[k] || p.whole[k]
	}
	return nil
}

// repeats reports whether the page that was read, whose definitions begin at
// read and refused, names a next one by the cursor of an earlier page and has
// what that has. Such a page is dropped: a server that answers so whatever it is
// asked has no more.
func (p *listingParser) repeats(k Kind, read, refused int) bool {
	now := cursor{k, p.next, p.read[read:], p.listing.Refused[refused:]}
	i := slices.IndexFunc(p.cursors, func(c cursor) bool { return c.kind == k && c.value == now.value })
	if i < 0 {
		now.read, now.refused = slices.Clone(now.read), slices.Clone(now.refused)
		p.cursors = append(p.cursors, now)
		return false
	}
	if !p.cursors[i].equal(now) {
		return false
	}
	p.counts[k] -= len(now.read) + len(now.refused)
	p.read, p.listing.Refused = p.read[:read], p.listing.Refused[:refused]
	return true
}

// equal reports whether two pages have the same definitions, in any order.
func (c cursor) equal(d cursor) bool {
	sum := func(c cursor) []string {
		var all []string
		for _, e := range c.read {
			all = append(all, e.digest.String())
		}
		for _, r := range c.refused {
			all = append(all, r.Name+" "+string(r.Err.Code)+" "+r.Err.Pointer)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(sum(c), sum(d))
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
			return r.Object(func(name string) error {
				if name == "initialize" && outer {
					return p.message(r, false)
				}
				return p.member(r, name)
			})
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
		p.next, err = optionalString(r)
		return err
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
		if ended, listed := p.ended[k]; listed && !ended {
			l.Partial = append(l.Partial, k)
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
