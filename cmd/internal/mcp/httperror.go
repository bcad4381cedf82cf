package mcp

import (
	"fmt"
	"net/http"
)

// An HTTPError reports that a server could not be reached over HTTP, or that what it answered is no MCP message.
type HTTPError struct {
	URL    string // scheme, host and path; user, query and fragment are left out, as they may be secret
	Method string // the JSON-RPC method under way
	Status int    // of the answer; 0 if there was none
	Body   string // at most the first 1 KiB of the answer, as received: escape it before it is shown
	Err    error  // what went wrong, if the status does not say it
}

// Error returns a single line with at most 300 characters of the body, quoted. For 401, 403, 404, 405 and 407 it says
// what the status means here.
func (e *HTTPError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: no answer to %s: %v", e.URL, e.Method, e.Err)
	}
	text := fmt.Sprintf("%s answered %s with HTTP status %d %s", e.URL, e.Method, e.Status, http.StatusText(e.Status))
	if e.Err != nil {
		text += fmt.Sprintf(": %v", e.Err)
	} else if m := meaning(e.Status); m != "" {
		text += ": " + m
	}
	if e.Body != "" {
		text += fmt.Sprintf("; the body begins with %.300q", e.Body)
	}
	return text
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

func meaning(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "credentials are needed, or those sent are not accepted"
	case http.StatusForbidden:
		return "the credentials sent, if any, do not allow this"
	case http.StatusNotFound:
		return "there is no MCP endpoint at this path"
	case http.StatusMethodNotAllowed:
		return "this is no streamable HTTP endpoint; the older HTTP+SSE transport is not supported"
	case http.StatusProxyAuthRequired:
		return "the proxy needs credentials"
	}
	return ""
}
