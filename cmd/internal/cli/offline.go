package cli

import "fmt"

// mayDial returns an error with the code if --offline is given. Whatever makes
// a connection, or starts a program that may make one, asks it first: what says
// what is wanted, next what to do instead.
func (a *app) mayDial(code ExitCode, what, next string) error {
	if !a.offline {
		return nil
	}
	return fail(code, fmt.Errorf("--offline: %s", what), next)
}

// mayList is mayDial for a server.
func (a *app) mayList(s source) error {
	return a.mayDial(ExitServer, "the server is not asked: "+s.String(),
		"where it can be asked, run: mcpsign list -o raw SOURCE > listing.jsonl; the file is a SOURCE here")
}

// mayCall is mayDial for the services that the flags sign with.
func (a *app) mayCall(f *signerFlags) error {
	if f.token == "" && f.tsa == "" {
		return nil
	}
	return a.mayDial(ExitService, "no signing service is called", "sign where the services are reached, or with a key alone")
}
