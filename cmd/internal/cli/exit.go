package cli

import (
	"context"
	"errors"
	"io/fs"

	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
	"github.com/mcpsign/mcpsign/verify"
)

// An ExitCode is what the process tells its caller. Codes are stable: 0 is
// yes, 1 to 6 mean that nothing could be said, 10 to 17 are a no.
type ExitCode int

const (
	ExitYes      ExitCode = 0  // everything required holds
	ExitInternal ExitCode = 1  // internal or I/O error
	ExitUsage    ExitCode = 2  // usage, bad configuration, policy or lockfile
	ExitServer   ExitCode = 3  // the server could not be started or listed
	ExitService  ExitCode = 4  // a signing, log or timestamp service failed after retries
	ExitTrust    ExitCode = 5  // trust material or state missing, unreadable or out of date; clock impossible
	ExitInput    ExitCode = 6  // input needed and none possible
	ExitDrift    ExitCode = 10 // a pinned definition changed or vanished, or the server calls itself otherwise
	ExitUnpinned ExitCode = 11 // a definition is not pinned
	ExitNoDigest ExitCode = 12 // a definition has no digest, or a duplicate name
	ExitUnsigned ExitCode = 13 // a required signature, attestation, approval or rule is missing
	ExitInvalid  ExitCode = 14 // evidence is invalid
	ExitWrong    ExitCode = 15 // signer, server, kind or launch is not the one allowed
	ExitOutdated ExitCode = 16 // expired, revoked, rolled back, contradictory
	ExitLint     ExitCode = 17 // the lint has a finding that --fail-on names
)

// precedence lists the codes from the one that wins to the one that loses when
// several apply.
var precedence = []ExitCode{
	ExitInvalid, ExitOutdated, ExitWrong, ExitUnsigned, ExitNoDigest, ExitDrift, ExitUnpinned, ExitLint,
	ExitInternal, ExitTrust, ExitServer, ExitService, ExitInput, ExitUsage, ExitYes,
}

// worst returns the code that wins.
func worst(codes ...ExitCode) ExitCode {
	for _, p := range precedence {
		for _, c := range codes {
			if c == p {
				return c
			}
		}
	}
	return ExitInternal
}

// reasonCode returns the code of a reason that made a verdict no yes.
func reasonCode(r verify.Reason) ExitCode {
	switch r {
	case verify.Drift, verify.Missing, verify.ServerChanged:
		return ExitDrift
	case verify.NotLocked:
		return ExitUnpinned
	case verify.NoDigest, verify.DuplicateName:
		return ExitNoDigest
	case verify.Unsigned, verify.NoRule, verify.VariantUnsigned, verify.AttestationMissing, verify.ApprovalMissing:
		return ExitUnsigned
	case verify.BadSignature:
		return ExitInvalid
	case verify.WrongSigner, verify.WrongServer, verify.WrongKind, verify.SourceUnbound, verify.SourceChanged:
		return ExitWrong
	case verify.Rollback, verify.Equivocation, verify.Expired, verify.Revoked:
		return ExitOutdated
	case verify.TrustMissing, verify.Unreadable:
		return ExitTrust
	}
	return ExitYes // says why a verdict is a yes, or follows from another one
}

// A failure is an error with the code and the advice it ends with.
type failure struct {
	code ExitCode
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail returns a failure, or nil for a nil error.
func fail(code ExitCode, err error, hint string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errMisplaced) { // whoever meets it, the call is wrong
		return err
	}
	return &failure{code, err, hint}
}

// hintOf returns the advice that an error ends with, empty if there is none.
func hintOf(err error) string {
	var f *failure
	var path *fs.PathError
	switch {
	case errors.As(err, &f) && f.hint != "":
		return f.hint
	case errors.As(err, &path) && errors.Is(path, fs.ErrNotExist):
		return "see that the file is there; its path starts from the working directory"
	}
	return ""
}

func usage(hint, message string) error {
	return &failure{ExitUsage, errors.New(message), hint}
}

// codeOf returns the code for an error that has no other.
func codeOf(err error) ExitCode {
	var (
		f       *failure
		trust   *verify.TrustError
		format  *verify.FormatError
		policy  *verify.PolicyError
		file    *lock.ParseError
		service *sign.ServiceError
		token   *sign.TokenError
		root    *sign.RootError
		start   *mcp.StartError
		method  *mcp.MethodError
		http    *mcp.HTTPError
		rpc     *lock.ResponseError
	)
	switch {
	case errors.As(err, &f):
		return f.code
	case errors.As(err, &trust), errors.As(err, &format), errors.As(err, &root):
		return ExitTrust
	case errors.As(err, &policy), errors.As(err, &file), errors.As(err, &token):
		return ExitUsage
	case errors.As(err, &service):
		return ExitService
	case errors.As(err, &start), errors.As(err, &method), errors.As(err, &http), errors.As(err, &rpc):
		return ExitServer
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrNotExist):
		return ExitInternal
	}
	return ExitInternal
}
