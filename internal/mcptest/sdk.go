package mcptest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wellBehaved are the behaviours of the SDK's server.
func wellBehaved() map[string]behaviour {
	stateful := &mcp.StreamableHTTPOptions{}
	stateless := &mcp.StreamableHTTPOptions{Stateless: true}
	return map[string]behaviour{
		"plain":      official("three tools, a prompt, a resource template, instructions; a session over HTTP, event streams", 0, false, stateful),
		"plain-json": official("plain, but JSON bodies over HTTP", 0, false, &mcp.StreamableHTTPOptions{JSONResponse: true}),
		"resumable":  official("plain, but streams begin with a priming event that has no data", 0, false, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}),
		"paged":      official("plain, but one definition a page", 1, false, stateful),
		"stateless":  official("plain, but without a session, and revision 2026-07-28 as well over HTTP", 0, false, stateless),
		"modern":     official("plain, but revision 2026-07-28 only: initialize is an unknown method", 0, true, stateless),
	}
}

func official(about string, pageSize int, modern bool, opts *mcp.StreamableHTTPOptions) behaviour {
	return behaviour{
		about: about,
		stdio: func(ctx context.Context) error {
			err := newOfficial(pageSize, modern).Run(ctx, &mcp.StdioTransport{})
			if ctx.Err() != nil {
				return nil
			}
			return err
		},
		http: func() http.Handler {
			s := newOfficial(pageSize, modern)
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, opts)
		},
	}
}

// newOfficial returns a server with the definitions that all its behaviours share.
func newOfficial(pageSize int, modern bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.4.2"}, &mcp.ServerOptions{
		Instructions: "Ask for the forecast before giving advice.",
		PageSize:     pageSize,
	})
	for _, t := range []*mcp.Tool{
		{Name: "get_alerts", Description: "Returns the weather alerts of a state.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema: json.RawMessage(`{"type":"object","properties":{"state":{"type":"string","maxLength":2}},"required":["state"]}`)},
		{Name: "get_forecast", Description: "Returns the forecast for a place.",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"latitude":{"type":"number"},"longitude":{"type":"number"}}}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"}}}`)},
		{Name: "set_units", Description: "Sets the units.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	} {
		s.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.TextContent{Text: "result of " + r.Params.Name}},
				StructuredContent: map[string]any{"summary": "sunny"},
			}, nil
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "plan_trip", Description: "Plans a trip by the weather."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Plan a trip."}}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "station", URITemplate: "weather://stations/{id}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "dry"}}}, nil
	})
	if modern {
		s.AddReceivingMiddleware(refuseInitialize)
	}
	return s
}

func refuseInitialize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "initialize" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
		}
		return next(ctx, method, r)
	}
}
