// Package mcp fetches the listing of a live MCP server, over stdio or over streamable HTTP, and hands over what the
// server sent, byte for byte.
//
// # What is asked, and in which order
//
//  1. initialize with protocol version 2025-11-25 and no client capabilities: some servers list other definitions to a
//     client that declares any. The answer may name that version or an older one; notifications/initialized follows.
//  2. server/discover of the stateless revision 2026-07-28, only if initialize was answered with -32601 (method not
//     found), -32602 (invalid parameters: the per-request metadata is missing), -32600 (invalid request), -32022
//     (unsupported protocol version), -32020 (the headers of that revision are missing), with HTTP status 400 and no
//     JSON-RPC error, or with the version 2026-07-28. This and every later request carries the protocol version, the
//     client's name and its (no) capabilities in params._meta under io.modelcontextprotocol/.
//  3. tools/list, prompts/list and resources/templates/list, each with all its pages, whatever capabilities the server
//     declares: a capability that is not declared must not hide a definition. Lists whose capability is declared come
//     first. The others get 2 s each.
//
// Both transports ask in this order, so that a server of both eras lists the same over either.
//
// # What counts as empty, and what as an error
//
// A method that the server does not have (-32601) lists nothing. So does a first and only page without the member it
// must have (tools, prompts, resourceTemplates), with a note, if the server does not declare the capability; for
// resourceTemplates even if it does, as the resources capability promises no templates and real servers answer so.
// A list whose capability is not declared is not there either, with a note, if the server answers the request for its
// first page with any error or with nonsense, does not answer it, or ends. Everything else the server may answer instead
// of a list is an error: no listing is not an empty listing.
//
// A cursor is opaque and sent back as it was spelled; "" is one, and only a missing or null nextCursor is the end. When a
// cursor comes a second time with the definitions that came with it before, the list ends there, with a note: that page
// is among the responses and repeats an earlier one. With others the method is listed once more from its first page, and
// then it is an error.
//
// After the last of several pages the first is asked for again. If it has other definitions by then, the error is
// [ErrChanging]. A list that the server announces as changed (notifications/tools/list_changed and the like) after it
// was asked for is listed once more; if it differs and is announced again, the error is the same.
//
// A message that is broken, repeats a top-level member, is a batch, or answers a request a second time is an error. An
// answer names its request by the number, or by a string of its decimal digits. One that names no request is an error
// where it can only be about the request under way; over stdio it may be about a notification or an answer of ours, and
// is one if nothing better comes within 10 s. What is not meant as a JSON-RPC message is noise: counted and passed over.
// Requests of the server are answered, ping with a result and all others with -32601, and more than 100 are an error;
// other notifications are ignored.
//
// # Streamable HTTP
//
// Every message is a POST of its own to the one URL. The reply is a JSON body or an event stream, as the server likes;
// what the Go transport decompresses (gzip) is bounded after that. Requests carry Mcp-Session-Id, if the answer to
// initialize did, and MCP-Protocol-Version once a version is agreed on; those of revision 2026-07-28 carry
// MCP-Protocol-Version and Mcp-Method and no session id (Mcp-Name goes with methods that are not used here). An error
// status with a JSON-RPC error for the request under way is that error; every other one is an [HTTPError].
//
// An event stream (HTML standard, section 9.2) is read up to the answer and then on to its end, for at most 2 s in all
// requests together, to see a second answer. Events without data, of a type other than message, comments, id and retry
// are passed over. A stream that ends without the answer is an error: it is not resumed by Last-Event-ID, and no GET is
// ever sent, as a list takes one round trip and whoever wants it can ask again.
//
// A session that is lost (status 404 to a request with a session id) is begun anew once. At the end a session is
// deleted, and what the server says to that is ignored. There is no other retry.
//
// A redirect is followed, at most three times a request, if it keeps the method (307, 308) and the origin: scheme, host
// and port. Nothing is ever sent to another origin. Proxies of the environment are used as net/http does.
package mcp

import (
	"fmt"
	"time"
)

// A Listing is what a server answered. Every text in it is the server's: escape it before it is shown.
type Listing struct {
	// Responses are the JSON-RPC responses exactly as received: the answer to initialize or server/discover, then all
	// pages of tools/list, prompts/list and resources/templates/list. Over stdio a response is a line without its
	// newline; over HTTP it is the body or the data of an event, and may hold newlines. Only the top-level members of a
	// response and those of its result were looked at.
	Responses [][]byte
	Methods   []string // what each of Responses answers

	ProtocolVersion string   // agreed on in the first response; 2026-07-28 after server/discover
	Notes           []string // answers that were not as they should be and did not matter, at most 16
	Noise           []string // the first lines on stdout, bodies or events that were no JSON-RPC messages, at most 16 of at most 256 bytes
	NoiseLines      int      // how many of those there were in all
	Stderr          string   // the last 4 KiB of the server's standard error; empty over HTTP
}

// A MethodError reports that the server answered a request with a JSON-RPC error.
type MethodError struct {
	Method  string
	Code    int64  // 0 if the error object had none that could be read
	Message string // as received: escape it before it is shown
}

// Error returns a single line with at most 300 characters of the message, quoted.
func (e *MethodError) Error() string {
	return fmt.Sprintf("%s was answered with error %d: %.300q", e.Method, e.Code, e.Message)
}

// limits bound what one listing may cost. Tests lower them.
type limits struct {
	pages int           // of all methods together, discarded ones included
	line  int           // bytes of one message
	total int           // bytes of standard output or of all bodies, noise included
	grace time.Duration // for each step of ending the process; for all that follows answers over HTTP, and for DELETE

	brief  time.Duration // for each answer about a list whose capability is not declared; 0 means no bound
	orphan time.Duration // for an answer that follows one that names no request; 0 means no bound
}

func standardLimits() limits {
	return limits{pages: 1000, line: 16 << 20, total: 64 << 20, grace: 2 * time.Second, brief: 2 * time.Second, orphan: 10 * time.Second}
}
