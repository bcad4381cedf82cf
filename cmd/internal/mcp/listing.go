package mcp

import (
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

var errRepeatedCursor = errors.New("the server repeats a cursor, its pages have no end")

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
	s.out.Responses = [][]byte{first}
	for _, p := range parts() {
		for _, g := range lists[p.method] {
			s.out.Responses = append(s.out.Responses, g.message)
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
		differs[p.method] = !slices.EqualFunc(lists[p.method], pages, func(a, b page) bool { return a.result == b.result })
		lists[p.method] = pages
	}
	for _, p := range parts() {
		if s.changed[p.changed] && differs[p.method] {
			return fmt.Errorf("%s: the list changes while it is fetched, twice in a row", p.method)
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
	s.version = version
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
	result  [sha256.Size]byte // SHA-256 of the result as it is spelled
}

// pages returns the responses that make up one list. It returns none if the server has no such list.
func (s *session) pages(p part) ([]page, error) {
	delete(s.changed, p.changed)
	if !s.declared(p) {
		s.brief = s.limits.brief
		defer func() { s.brief = 0 }()
	}
	var pages []page
	var params map[string]any
	seen := make(map[string]bool)
	for {
		if s.fetched++; s.fetched > s.limits.pages {
			return nil, fmt.Errorf("%s: the listing has more than %d pages", p.method, s.limits.pages)
		}
		r, err := s.call(p.method, params)
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
		pages = append(pages, page{r.message, sha256.Sum256(r.result)})
		if absent(next) {
			return pages, nil
		}
		if next[0] != '"' {
			return nil, fmt.Errorf("%s: nextCursor is not a string: %.40q", p.method, next)
		}
		if seen[string(next)] {
			return nil, fmt.Errorf("%s: %w", p.method, errRepeatedCursor)
		}
		seen[string(next)] = true
		params = map[string]any{"cursor": next}
	}
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
