package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	versionInitialize = "2025-11-25" // the last revision with a handshake
	versionStateless  = "2026-07-28" // the first one without

	// The names of revision 2026-07-28. A test holds them to the ones of the SDK, whose package of that name would more
	// than double what this package links.
	metaProtocolVersion     = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo          = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities  = "io.modelcontextprotocol/clientCapabilities"
	codeUnsupportedProtocol = -32022
	codeHeaderMismatch      = -32020
)

// ErrChanging reports that a server listed different things while it was listed. Another attempt may succeed.
var ErrChanging = errors.New("the list changes while it is fetched")

var errRepeatedCursor = errors.New("the server repeats a cursor with another page, its pages have no end")

// A part is one of the three lists a server has.
type part struct {
	method, member, capability string
	changed                    string // the notification that the list is another now
}

func parts() []part {
	return []part{
		{"tools/list", "tools", "tools", "notifications/tools/list_changed"},
		{"prompts/list", "prompts", "prompts", "notifications/prompts/list_changed"},
		{"resources/templates/list", "resourceTemplates", "resources", "notifications/resources/list_changed"},
	}
}

// list fetches the whole listing.
func (s *session) list() error {
	first, err := s.handshake()
	if err != nil {
		return err
	}
	s.ready = true
	lists := make(map[string][]page)
	// What is not declared comes last: some servers end, or never answer again, when they are asked for it.
	for _, declared := range []bool{true, false} {
		for _, p := range parts() {
			if s.declared(p) != declared {
				continue
			}
			if lists[p.method], err = s.pages(p); errors.Is(err, errRepeatedCursor) {
				// A list that changes between two pages may send a client around once without any fault of the server.
				lists[p.method], err = s.pages(p)
			}
			if err != nil {
				return err
			}
		}
		if err := s.settle(lists); err != nil {
			return err
		}
	}
	s.out.Responses, s.out.Methods = [][]byte{first}, []string{s.began}
	for _, p := range parts() {
		for _, g := range lists[p.method] {
			s.out.Responses, s.out.Methods = append(s.out.Responses, g.message), append(s.out.Methods, p.method)
		}
	}
	return nil
}

// settle lists once more what the server announced to have changed since it was asked for.
func (s *session) settle(lists map[string][]page) error {
	differs := make(map[string]bool)
	for _, p := range parts() {
		if _, asked := lists[p.method]; !asked || !s.changed[p.changed] {
			continue
		}
		pages, err := s.pages(p)
		if err != nil {
			return err
		}
		differs[p.method] = !slices.EqualFunc(lists[p.method], pages, func(a, b page) bool { return a.list == b.list })
		lists[p.method] = pages
	}
	for _, p := range parts() {
		if s.changed[p.changed] && differs[p.method] {
			return fmt.Errorf("%s: %w, twice in a row", p.method, ErrChanging)
		}
	}
	return nil
}

// handshake agrees on a protocol version and returns the response that did it.
func (s *session) handshake() ([]byte, error) {
	r, err := s.call("initialize", map[string]any{
		"protocolVersion": versionInitialize,
		"capabilities":    struct{}{},
		"clientInfo":      clientInfo(),
	})
	if refusesHandshake(err) {
		line, derr := s.discover()
		if derr != nil {
			return nil, fmt.Errorf("%w, and %w", err, derr)
		}
		return line, nil
	}
	if err != nil {
		return nil, err
	}
	version := text(r.members["protocolVersion"])
	switch version {
	case versionStateless:
		return s.discover()
	case versionInitialize, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07":
	default:
		return nil, fmt.Errorf("server answered initialize with the unknown protocol version %.40q", version)
	}
	s.agree(version, r)
	return r.message, s.send(message{Method: "notifications/initialized"})
}

// refusesHandshake reports whether err is how a server refuses initialize that may speak the stateless revision only.
func refusesHandshake(err error) bool {
	if e := (*HTTPError)(nil); errors.As(err, &e) && e.Status == http.StatusBadRequest {
		return true
	}
	var e *MethodError
	return errors.As(err, &e) && slices.Contains([]int64{
		jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest,
		codeUnsupportedProtocol, codeHeaderMismatch,
	}, e.Code)
}

func (s *session) discover() ([]byte, error) {
	s.version = versionStateless
	s.meta = map[string]any{
		metaProtocolVersion:    versionStateless,
		metaClientInfo:         clientInfo(),
		metaClientCapabilities: struct{}{},
	}
	r, err := s.call("server/discover", nil)
	if err != nil {
		return nil, err
	}
	supported := r.members["supportedVersions"]
	var versions []string
	if err := json.Unmarshal(supported, &versions); err != nil || !slices.Contains(versions, versionStateless) {
		return nil, fmt.Errorf("server does not speak protocol version %s: its supportedVersions are %.100q", versionStateless, supported)
	}
	s.agree(versionStateless, r)
	return r.message, nil
}

func (s *session) agree(version string, r *reply) {
	s.version, s.began = version, s.method
	s.out.ProtocolVersion = version
	// Capabilities that can't be read count as none: they only decide how strictly a malformed page is taken.
	_ = json.Unmarshal(r.members["capabilities"], &s.capabilities)
}

// clientInfo names a fixed version, so that no release of ours can make a server list something else.
func clientInfo() map[string]any {
	return map[string]any{"name": "mcpsign", "version": "1"}
}

// A page is one response of a list.
type page struct {
	message []byte            // as received
	list    [sha256.Size]byte // of the definitions, see [summary]
	next    string            // the cursor of the next page, as it is spelled
}

// summary returns a digest that two lists share if they have the same definitions, whatever their order, the order of
// members, white space and the top-level _meta. It compares pages and identifies nothing.
func summary(list json.RawMessage) [sha256.Size]byte {
	var elements []json.RawMessage
	if json.Unmarshal(list, &elements) != nil {
		return sha256.Sum256(list)
	}
	sums := make([][sha256.Size]byte, len(elements))
	for i, e := range elements {
		var value any
		dec := json.NewDecoder(bytes.NewReader(e))
		dec.UseNumber()
		if dec.Decode(&value) == nil {
			if members, ok := value.(map[string]any); ok {
				delete(members, "_meta")
			}
			if form, err := json.Marshal(value); err == nil {
				e = form
			}
		}
		sums[i] = sha256.Sum256(e)
	}
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, s := range sums {
		h.Write(s[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// pages returns the responses that make up one list. It returns none if the server has no such list. With an error there
// are none to be used.
func (s *session) pages(p part) ([]page, error) {
	delete(s.changed, p.changed)
	if !s.declared(p) {
		s.brief = s.limits.brief
		defer func() { s.brief = 0 }()
	}
	var pages []page
	var params map[string]any
	for {
		r, err := s.fetch(p, params)
		if len(pages) == 0 && s.lacks(p, err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		next := r.members["nextCursor"]
		if absent(r.members[p.member]) {
			if len(pages) > 0 || !absent(next) {
				return nil, fmt.Errorf("%s: a page has no %s member", p.method, p.member)
			}
			return nil, s.memberless(p)
		}
		now := page{r.message, summary(r.members[p.member]), string(next)}
		before := slices.IndexFunc(pages, func(b page) bool { return b.next == now.next })
		pages = append(pages, now)
		switch {
		case absent(next):
			return pages, s.unchanged(p, pages)
		case next[0] != '"':
			return nil, fmt.Errorf("%s: nextCursor is not a string: %.40q", p.method, next)
		case before >= 0 && pages[before].list != now.list:
			return nil, fmt.Errorf("%s: %w", p.method, errRepeatedCursor)
		case before >= 0:
			s.note("%s: the server repeats a cursor and the page that came with it; the list ends there", p.method)
			return pages, s.unchanged(p, pages[:len(pages)-1])
		}
		params = map[string]any{"cursor": next}
	}
}

// fetch asks for one page of a list, the first if params is nil.
func (s *session) fetch(p part, params map[string]any) (*reply, error) {
	if s.fetched++; s.fetched > s.limits.pages {
		return nil, fmt.Errorf("%s: the listing has more than %d pages", p.method, s.limits.pages)
	}
	return s.call(p.method, params)
}

// unchanged asks for the first of several pages again: pages of two lists make one that never was. What the server has
// announced is for settle.
func (s *session) unchanged(p part, pages []page) error {
	if len(pages) < 2 {
		return nil
	}
	r, err := s.fetch(p, nil)
	if err != nil {
		return err
	}
	if summary(r.members[p.member]) != pages[0].list && !s.changed[p.changed] {
		return fmt.Errorf("%s: %w: after the last page the first was another", p.method, ErrChanging)
	}
	return nil
}

// lacks reports whether an error for the first page of a list says that the server has no such list.
func (s *session) lacks(p part, err error) bool {
	var refused *MethodError
	unknown := errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound
	switch {
	case s.declared(p):
		if unknown {
			s.note("%s: the server has no such method and declares the capability %s", p.method, p.capability)
		}
		return unknown
	case unknown:
		return true
	case errors.Is(err, errSilent), errors.Is(err, errEnded):
		s.giveUp()
		err = fmt.Errorf("%s: %w", p.method, err)
	case refused != nil, errors.As(err, new(*HTTPError)), errors.As(err, new(*messageError)):
		s.giveUp()
	default:
		return false
	}
	s.note("%v; the server does not declare the capability %s, so that it counts as having no such list", err, p.capability)
	return true
}

// memberless decides about a result that lacks the member it must have: the list is empty, or it is an error.
func (s *session) memberless(p part) error {
	if s.declared(p) && p.capability != "resources" {
		return fmt.Errorf("%s: the result has no %s member", p.method, p.member)
	}
	s.note("%s: the result has no %s member and counts as empty", p.method, p.member)
	return nil
}

func (s *session) declared(p part) bool {
	return !absent(s.capabilities[p.capability])
}
