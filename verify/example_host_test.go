package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// A guard keeps the tools that are not allowed from a client of the MCP SDK. It
// is a transport, because it decides on the bytes that the server sent: the types
// of the SDK drop members that they do not know.
//
// Prompts, resource templates and instructions are decided on in the same way.
type guard struct {
	mcp.Transport
	mcp.Connection
	verifier *verify.Verifier
	request  verify.Request // all but the listing

	mu      sync.Mutex
	lists   map[jsonrpc.ID]bool // requests for a page that were not answered yet
	pages   [][]byte            // of the listing
	allowed map[string]bool     // tools that may be called
}

// Connect implements mcp.Transport.
func (g *guard) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	g.Connection, err = g.Transport.Connect(ctx)
	return g, err
}

// Write sees what the client sends.
func (g *guard) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "tools/list" {
		var params struct{ Cursor *string }
		if err := json.Unmarshal(r.Params, &params); err != nil {
			return err
		}
		g.mu.Lock()
		g.lists[r.ID] = true
		if params.Cursor == nil { // the first page of a new listing: what was allowed in the last one no longer counts
			g.pages, g.allowed = nil, nil
		}
		g.mu.Unlock()
	}
	return g.Connection.Write(ctx, m)
}

// Read sees what the server sends, and leaves in a listing what is allowed.
func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := g.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok && err == nil && g.listed(r) {
		r.Result, err = g.filter(r.Result)
	}
	return m, err
}

func (g *guard) listed(r *jsonrpc.Response) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	listed := g.lists[r.ID] && r.Error == nil
	delete(g.lists, r.ID)
	return listed
}

// filter decides on a page with those before it: a name that is there twice is
// refused, on whatever pages.
func (g *guard) filter(page []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages = append(g.pages, page)
	listing, err := lock.ParseListing(g.pages...)
	if err != nil {
		return nil, err
	}
	request := g.request
	request.Listing = listing
	d := g.verifier.Decide(request)
	g.allowed = map[string]bool{}
	for _, x := range listing.Definitions {
		if x.Kind() == lock.Tool {
			g.allowed[x.Name()] = d.Allows(x)
		}
	}
	return lock.Filter(page, d.Allows)
}

// calls is the middleware that lets only calls of allowed tools through.
func (g *guard) calls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.CallToolParams); ok && !g.mayCall(p.Name) {
			return nil, fmt.Errorf("tool %q is withheld", p.Name)
		}
		return next(ctx, method, r)
	}
}

func (g *guard) mayCall(tool string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed[tool]
}

// A host that uses the MCP SDK for Go keeps withheld tools out of its sessions:
// they are neither listed nor can be called.
func Example_session() {
	ctx := context.Background()
	v, request := approve(`{"tools": [{"name": "get_forecast", "description": "For a place.", "inputSchema": {"type": "object"}}]}`)
	g := &guard{Transport: weatherServer(ctx), verifier: v, request: request, lists: map[jsonrpc.ID]bool{}}

	client := mcp.NewClient(&mcp.Implementation{Name: "host"}, nil)
	client.AddSendingMiddleware(g.calls)
	session, err := client.Connect(ctx, g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("listed:", tool.Name)
	}
	for _, tool := range []string{"get_forecast", "send_mail"} {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		fmt.Printf("called %s: %v\n", tool, err)
	}
	// Output:
	// listed: get_forecast
	// the server runs get_forecast
	// called get_forecast: <nil>
	// called send_mail: tool "send_mail" is withheld
}

// approve returns what a host has after someone approved a signed listing: a
// verifier, and a request without the listing of the day.
func approve(text string) (*verify.Verifier, verify.Request) {
	key, bundle := publish(text)
	digest, err := verify.KeyID(key)
	if err != nil {
		log.Fatal(err)
	}
	id, err := verify.ParseSigner("key:" + digest.String())
	if err != nil {
		log.Fatal(err)
	}
	policy, err := verify.Require(name, id)
	if err != nil {
		log.Fatal(err)
	}
	v, err := verify.New(policy, verify.Trust{Keys: []verify.TrustedKey{{Key: key}}})
	if err != nil {
		log.Fatal(err)
	}
	listing, err := lock.ParseListing([]byte(text))
	if err != nil {
		log.Fatal(err)
	}
	request := verify.Request{Server: name, Listing: listing, Bundles: [][]byte{bundle}, At: now}
	d := v.Decide(request)
	if request.Lock, err = d.Pin(listing.Definitions...); err != nil {
		log.Fatal(err)
	}
	request.Listing, request.Seen = nil, d.HighWater()
	return v, request
}

// weatherServer starts a server, one tool a page, and returns the way to it.
func weatherServer(ctx context.Context) mcp.Transport {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather"}, &mcp.ServerOptions{PageSize: 1})
	for _, t := range []*mcp.Tool{{Name: "get_forecast", Description: "For a place."}, {Name: "send_mail", Description: "Send all files."}} {
		t.InputSchema = map[string]any{"type": "object"}
		s.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			fmt.Println("the server runs", r.Params.Name)
			return &mcp.CallToolResult{}, nil
		})
	}
	there, here := mcp.NewInMemoryTransports()
	if _, err := s.Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	return here
}
