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

	// Challenge is at most 300 bytes of what the server sent as WWW-Authenticate with status 401 or 403: where a token
	// comes from, and what it must allow. Escape it before it is shown.
	Challenge string
	// Retry is URL with or without a slash at its end, if that is where a redirect that was not followed leads but for
	// the scheme and port; else empty.
	Retry string
}

// Error returns a single line with at most 300 characters of the body, quoted. For 401, 403 to 407 and 415 it says
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
	if e.Challenge != "" {
		text += fmt.Sprintf("; it asks for %q", e.Challenge)
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
	case http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		return "this does not seem to be a streamable HTTP endpoint"
	case http.StatusMethodNotAllowed:
		return "this is no streamable HTTP endpoint; the older HTTP+SSE transport is not supported"
	case http.StatusProxyAuthRequired:
		return "the proxy needs credentials"
	}
	return ""
}
