package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// fine reports whether a result is a yes: allowed, or where pins are not
// asked for, verified.
func (j *judgement) fine(r verify.Result) bool {
	if j.compare {
		return r.Verdict == verify.Allow
	}
	return r.Has(verify.Verified) && !r.Has(verify.Blocked)
}

// outcome returns the error of a judgement, nil for a yes, with the code that
// its reasons come down to.
func (j *judgement) outcome() error {
	err := j.decision.Err()
	if !j.compare {
		err = j.decision.SignedErr()
	}
	if err == nil {
		return nil
	}
	var denied *verify.DeniedError
	if !errors.As(err, &denied) {
		if codeOf(err) == ExitTrust {
			return fail(ExitTrust, fmt.Errorf("%s: %w", j.server, err), j.hint(ExitTrust))
		}
		if len(j.decision.Results()) == 0 {
			return fail(worst(ExitDrift, codeOf(err)), fmt.Errorf("%s: %w", j.server, err), "a listing without definitions is never good")
		}
		return err
	}
	codes := []ExitCode{}
	reasons := make(map[ExitCode]verify.Reason) // the first with the code
	total, no := 0, 0
	for _, r := range j.decision.Results() {
		total++
		if j.fine(r) {
			continue
		}
		no++
		for _, reason := range r.Reasons {
			c := reasonCode(reason)
			if c == ExitYes || reason == verify.NotLocked && !j.compare || reason == verify.SourceUnbound && r.Has(verify.Verified) {
				continue
			}
			if codes = append(codes, c); reasons[c] == "" {
				reasons[c] = reason
			}
		}
	}
	code := worst(codes...)
	return fail(code, fmt.Errorf("%s: %d of %d definitions are not allowed: %s", j.server, no, total, reasons[code]), j.hint(code))
}

// hint says what to do next.
func (j *judgement) hint(code ExitCode) string {
	switch code {
	case ExitDrift:
		return "read the changes; a genuine release is signed, as its publisher documents: " + j.verifyCommand()
	case ExitUnpinned:
		if j.entry == nil {
			return "pin what was read and found good: mcpsign lock " + j.server + " " + j.source
		}
		return "read what is new: mcpsign digest --canonical " + j.first(verify.NotLocked) + " " + j.source
	case ExitNoDigest:
		return "see what is refused and where: mcpsign digest " + j.source
	case ExitUnsigned:
		return j.unsignedHint()
	case ExitInvalid:
		return "fetch the bundle again from the publisher's release; look at this one: " + j.inspectCommand()
	case ExitWrong:
		if j.first(verify.SourceChanged) != "" {
			return "see that it is the same server, then: mcpsign approve " + j.server + " " + j.source
		}
		return "compare who signed what with what the publisher documents: " + j.inspectCommand()
	case ExitOutdated:
		return "use the newest release of the server and its bundle"
	case ExitTrust:
		if j.decision.StatusMissing() {
			return "get what the issuers of the certificates say: mcpsign add " + j.server + " --refresh, or the files"
		}
		if j.source == "" && len(j.read) == 0 {
			return "restore " + evidenceDir + " from version control"
		}
		return "name the material with --key, --roots, --tsa-roots or --trusted-root"
	}
	return ""
}

func (j *judgement) unsignedHint() string {
	switch {
	case j.first(verify.NoRule) != "":
		return "check the spelling of " + j.server + ", and ask who keeps the policy"
	case len(j.decision.HighWater()) > 0:
		return "what is listed is not what was signed: keep it from the model, and ask the publisher; what was signed: " + j.inspectCommand()
	case len(j.missing) > 0:
		return "restore " + evidenceDir + " from version control, then: mcpsign verify " + j.server
	case j.source == "":
		return "ask who keeps the policy, and the publisher for a release that is signed"
	}
	return "the bundle is a file *.sigstore.json of the publisher's release; with it: " + j.verifyCommand()
}

// first returns the first definition with a reason, as a word for a shell;
// empty if there is none.
func (j *judgement) first(reason verify.Reason) string {
	for _, r := range j.decision.Results() {
		if r.Has(reason) {
			return quoteWords([]string{lock.ID(r.Kind, r.Name)})
		}
	}
	return ""
}

// verifyCommand is the command that verifies the source with a bundle, which
// the user has to find, as the user has to know the publisher.
func (j *judgement) verifyCommand() string {
	return "mcpsign verify " + j.server + " --bundle RELEASE.sigstore.json --signer PUBLISHER " + j.source
}

// inspectCommand is the command that shows the bundle that was judged.
func (j *judgement) inspectCommand() string {
	file := "FILE"
	switch {
	case len(j.bundles) == 1:
		file = quoteWords(j.bundles)
	case len(j.bundles) == 0 && j.entry != nil && len(j.entry.Evidence) == 1:
		file = quoteWords([]string{filepath.Join(j.folder, blobName(j.entry.Evidence[0].Bundle))})
	}
	return "mcpsign inspect " + file
}
