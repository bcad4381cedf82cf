package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
)

// listHint says what to do about a server that was not listed, otherwise if
// nothing is known but that.
func listHint(err error, otherwise string) string {
	var remote *mcp.HTTPError
	switch {
	case errors.Is(err, mcp.ErrChanging):
		return "list it again when nothing changes what the server lists"
	case errors.As(err, &remote) && remote.Status == 0:
		return dialHint(remote)
	case errors.As(err, &remote):
		return responseHint(remote)
	case errors.As(err, new(*mcp.MethodError)):
		return "see what the server's publisher documents: it may need an argument, a variable of the environment or a token"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrPermission):
		return "see that the program is installed, may be run, and is found in the PATH or at that path from the working directory"
	}
	return otherwise
}

// responseHint says what to do about an HTTP status.
func responseHint(e *mcp.HTTPError) string {
	const endpoint = "see which URL the publisher documents for streamable HTTP (often it ends in /mcp)"
	switch {
	case e.Retry != "":
		return "the server wants another spelling of the path, and may lose https behind a proxy: give the URL as " + quoteWords([]string{e.Retry})
	case e.Status/100 == 3:
		return "if the server has moved, give its new URL"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		if e.Challenge != "" {
			return "get a token where the server says, and send it: --header 'Authorization: Bearer ${TOKEN}'"
		}
		return "get a token from whoever runs the server, and send it: --header 'Authorization: Bearer ${TOKEN}'"
	case http.StatusForbidden:
		return "ask whoever runs the server what the token must allow"
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		return endpoint + "; the older HTTP+SSE transport is not supported"
	case http.StatusProxyAuthRequired:
		return "give the proxy's credentials in HTTPS_PROXY, or name the host in NO_PROXY"
	case http.StatusTooManyRequests:
		return "wait, and list it again"
	}
	if e.Status >= 500 {
		return "the server failed: list it again later, or ask whoever runs it"
	}
	return endpoint
}

// dialHint says what to do about a server that was not reached.
func dialHint(e *mcp.HTTPError) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(e, &unknown) && runtime.GOOS == "linux":
		return "if the certificate is of a private PKI, set SSL_CERT_FILE to the file with its root certificate"
	case errors.As(e, &unknown):
		return "if the certificate is of a private PKI, add its root certificate to those of the system"
	case errors.As(e, &name):
		return "give the URL with a host name that the certificate has"
	case errors.As(e, &invalid) && invalid.Reason == x509.Expired:
		return "see that the clock of this machine is right, and ask whoever runs the server to renew its certificate"
	case errors.Is(e, http.ErrSchemeMismatch), errors.As(e, new(tls.RecordHeaderError)):
		return "what answers at that port does not speak TLS: see that the port is the right one"
	case errors.As(e, &dns):
		return "check the spelling of the host name, and that this machine can resolve it"
	case errors.Is(e, syscall.ECONNREFUSED):
		return "see that the server is running, and that host and port are right"
	case errors.As(e, &dial) && dial.Op == "dial":
		return "see that the server is running, and can be reached from here; HTTPS_PROXY names a proxy"
	}
	return "see that the server is running, and whether its log says why it did not answer"
}
