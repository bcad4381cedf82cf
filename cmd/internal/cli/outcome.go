package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
			return fail(ExitTrust, fmt.Errorf("%s: %w", j.server, err), j.trustHint(err))
		}
		if len(j.decision.Results()) == 0 {
			return fail(worst(ExitDrift, codeOf(err)), fmt.Errorf("%s: %w", j.server, err), "a listing without definitions is never good")
		}
		return err
	}
	codes := []ExitCode{}
	reasons := make(map[ExitCode]verify.Reason) // the first with the code
	total, no := 0, 0
	for _, r := range j.asked() {
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
	if no == 0 { // of what was asked about
		return nil
	}
	code := worst(codes...)
	why := string(reasons[code])
	if reasons[code] == verify.ServerChanged {
		why += ": " + j.renamed()
	}
	return fail(code, fmt.Errorf("%s: %d of %d definitions are not allowed: %s%s", j.server, no, total, why, j.elsewhere(reasons[code])), j.hint(code))
}

// elsewhere says which servers the lockfile has, where the one that was judged
// is not one of them and may be misspelled; to stand behind the reason.
func (j *judgement) elsewhere(reason verify.Reason) string {
	if j.unpinned == "" || reason != verify.NoRule && !j.misnamed {
		return ""
	}
	return "; " + j.unpinned
}

// renamed says how the server calls itself otherwise than when it was approved.
func (j *judgement) renamed() string {
	for _, f := range lock.CompareInfo(j.entry.Info, j.listing.Info()) {
		if f.Severity == lock.High {
			return renamedText(f)
		}
	}
	return ""
}

// asked returns the results that the question is about.
func (j *judgement) asked() []verify.Result {
	results := j.decision.Results()
	if j.only == "" {
		return results
	}
	return slices.DeleteFunc(results, func(r verify.Result) bool { return lock.ID(r.Kind, r.Name) != j.only })
}

// hint says what to do next.
func (j *judgement) hint(code ExitCode) string {
	switch code {
	case ExitDrift:
		if j.first(verify.ServerChanged) != "" {
			return "see that it is the same server, and read what changed; if both are good: " + j.approveCommand()
		}
		if j.genuine() {
			return "the release is genuine: read the changes, and approve them if they are good: " + j.approveCommand()
		}
		return j.driftHint()
	case ExitUnpinned:
		if j.held {
			return "read it, and approve exactly that if it is good: " + j.approveCommand()
		}
		if j.entry == nil {
			return "pin what was read and found good: " + j.command("lock", j.source)
		}
		return "read what is new: mcpsign digest --canonical " + j.first(verify.NotLocked) + " " + j.source + "; then: " + j.approveCommand()
	case ExitNoDigest:
		return "see what is refused and where: mcpsign digest " + j.source
	case ExitUnsigned:
		if j.signedByFew() && !j.explained {
			return "see who else has to sign, and who did: " + j.explainCommand()
		}
		return j.unsignedHint()
	case ExitInvalid:
		return "fetch the bundle again from the publisher's release; look at this one: " + j.inspectCommand()
	case ExitWrong:
		if j.first(verify.SourceChanged) != "" {
			return "see that it is the same server, then: " + j.approveCommand()
		}
		if j.first(verify.SourceUnbound) != "" && len(j.decision.Diagnostics()) == 0 {
			if j.launch.IsZero() && (j.source != "" || j.request.Source.IsZero()) {
				return "files do not say what serves them: name the command or the URL: " + j.command("check", "-- COMMAND")
			}
			if j.request.Doubt != "" {
				return doubtHint
			}
			return "launch what the release names, installed afresh if its digest is another; what that is: " + j.inspectCommand()
		}
		if j.first(verify.WrongSigner) != "" && len(j.decision.Evidence()) > 0 && j.source != "" && !j.byPolicy() {
			return "compare who signed with what the publisher documents; if that is its new signer, read the changes and approve: " + j.approveCommand()
		}
		if j.first(verify.WrongSigner) != "" && len(j.bundles) > 0 && j.source != "" && !j.named && !j.byPolicy() {
			return j.newSignerHint()
		}
		return "compare who signed what with what the publisher documents: " + j.inspectCommand()
	case ExitOutdated:
		if j.first(verify.Equivocation) != "" {
			return "keep both from the model, and ask the publisher, who signed two things under one number; look at each: " + j.inspectCommand()
		}
		var newer []string
		for _, e := range j.decision.Evidence() {
			newer = append(newer, j.kept(e.Bundle, addedPath(j.server))...)
		}
		switch {
		case len(newer) > 0 && j.first(verify.Rollback) != "" && j.downgrade:
			return "a newer release was added, and counts as long as it is there: to go back, remove first " + quoteWords(newer)
		case len(newer) > 0 && j.first(verify.Rollback) != "" && j.source == "":
			return "a newer release was added than the one that is pinned: approve what it lists: " + j.command("approve", "SOURCE")
		case j.source == "" && j.first(verify.Rollback) != "" && j.behind():
			return "the lockfile is behind what this machine has seen: restore the newest one from version control, or approve the newest release: " + j.command("approve", "SOURCE")
		}
		return "use the newest release of the server and its bundle"
	case ExitTrust:
		return j.trustHint(nil)
	}
	return ""
}

// driftHint says what to do about changes that no evidence vouches for.
func (j *judgement) driftHint() string {
	signed := j.entry != nil && len(j.entry.Evidence) > 0
	switch {
	case j.byPolicy():
		return "read the changes; a genuine release is signed: " + j.verifyCommand()
	case !signed:
		return "read the changes, and approve them if they are good: " + j.approveCommand()
	case len(j.bundles) > 0 && !j.named:
		return j.newSignerHint()
	}
	source := j.source
	if j.held {
		source = "--held"
	}
	return "read the changes; if the publisher has released them, approve with the bundle of the release: " + j.command("approve", "--bundle RELEASE.sigstore.json", source)
}

// newSignerHint is for a bundle by another signer than the lockfile records, where
// nothing else says who may sign.
func (j *judgement) newSignerHint() string {
	return "the bundle is by another signer than the one recorded; if the publisher documents that one, read the changes and approve: " + j.command("approve", "--key KEY.pub", j.source)
}

// byPolicy reports whether a policy says who may sign.
func (j *judgement) byPolicy() bool {
	return slices.ContainsFunc(j.read, func(r authority) bool { return strings.HasSuffix(r.Role, "policy") })
}

// behind reports whether nothing but what was seen on this machine speaks against
// the lockfile.
func (j *judgement) behind() bool {
	alone, changed := j.withoutState(ExitOutdated)
	return changed && alone == ExitYes
}

// trustHint says what to do about what is missing to say anything, for which the
// error may be known.
func (j *judgement) trustHint(err error) string {
	var clock *verify.ClockError
	var list *verify.ListError
	var kept *verify.KeptError
	var stale *verify.StaleListError
	switch {
	case errors.As(err, &kept):
		return j.keptHint(kept)
	case errors.As(err, &clock):
		return "set the clock of this machine"
	case j.formatHint() != "":
		return j.formatHint()
	case errors.As(err, &list), errors.As(err, &stale):
		return "get the newest revocation list of the signer: " + j.command("add", "FILE")
	case j.decision.StatusMissing():
		return "name the files in the policy, or get what the issuers of the certificates say: " + j.command("add", "--refresh")
	case j.source == "" && len(j.read) == 0:
		return "restore " + evidenceDir + " from version control"
	}
	if j.sighted == j.here && len(j.bundles) == 0 { // the lockfile's rule, which takes no roots
		return "restore " + evidenceDir + " from version control, or say who must have signed with --key, or with --signer and its roots"
	}
	var missing *verify.MissingError
	for _, d := range j.decision.Diagnostics() {
		if errors.As(d.Err, &missing) {
			return missingHint(missing.Need, j.byPolicy())
		}
	}
	return "name the material with --key, --roots, --tsa-roots or --trusted-root"
}

// formatHint says what to do about the first bundle that can't be read, empty if
// there is none.
func (j *judgement) formatHint() string {
	for _, d := range j.decision.Diagnostics() {
		if hint := formatHint(d.Err, j.bundles...); hint != "" {
			return hint
		}
	}
	return ""
}

// missingHint says which file is missing and where it comes from: not from the
// bundle, which could bring anything.
func missingHint(need verify.Material, policy bool) string {
	what, flag, member := "the public key", "--key", "key"
	switch need {
	case verify.RootsFile:
		what, flag, member = "the root and intermediate certificates", "--roots", "x509.roots"
	case verify.TSARootsFile:
		what, flag, member = "the certificates of the timestamp authority, root and intermediates,", "--tsa-roots", "x509.tsaRoots"
	case verify.TrustedRootFile:
		if policy {
			return "get the newest Sigstore trusted_root.json that the publisher documents; its file is the trustedRoot of the publisher in the policy, or named with --trusted-root FILE"
		}
		return "get the Sigstore trusted_root.json that the publisher documents, the newest one, and name it: --trusted-root FILE"
	}
	if policy {
		return "get " + what + " that the publisher documents; the file is named in the policy, as " + member + " of the publisher, or with " + flag + " FILE"
	}
	return "get " + what + " that the publisher documents, and name the file: " + flag + " FILE"
}

// diagnosed reports whether a diagnostic has that cause.
func (j *judgement) diagnosed(cause error) bool {
	return slices.ContainsFunc(j.decision.Diagnostics(), func(d verify.Diagnostic) bool { return errors.Is(d.Err, cause) })
}

func (j *judgement) unsignedHint() string {
	switch {
	case j.first(verify.NoRule) != "":
		return noRuleHint(j.server)
	case j.diagnosed(verify.ErrNoTime) && len(j.bundles) == 0 && !j.named && !j.byPolicy():
		return "the signature has no timestamp, which only a policy can accept: name the one it was pinned with: " + j.command("verify", "--policy FILE")
	case j.diagnosed(verify.ErrNoTime):
		return "the signature has no timestamp: ask the publisher for a bundle with one; look at this one: " + j.inspectCommand()
	case j.diagnosed(verify.ErrNoLog):
		return "the signature is in no transparency log: ask the publisher for a bundle that is; look at this one: " + j.inspectCommand()
	case j.explained && (j.first(verify.AttestationMissing) != "" || j.signedByFew()):
		return "ask who has to give it; then: " + j.command("add", "FILE")
	case j.explained && j.first(verify.ApprovalMissing) != "":
		return "ask a reviewer: " + j.command("approve", "--out FILE --sign key=KEY --audience AUDIENCE --expires 90d", "SOURCE") + "; then: " + j.command("add", "FILE")
	case j.first(verify.ApprovalMissing) != "" || j.first(verify.AttestationMissing) != "":
		return "see who has to give it, and what is there: " + j.explainCommand()
	case len(j.decision.Evidence()) > 0:
		return "what is listed is not what was signed: keep it from the model, and ask the publisher; what was signed: " + j.inspectCommand()
	case len(j.missing) > 0:
		return "restore " + evidenceDir + " from version control, then: " + j.command("verify")
	case j.source == "":
		return "ask who keeps the policy, and the publisher for a release that is signed"
	}
	return "the bundle is a file *.sigstore.json of the publisher's release; with it: " + j.verifyCommand()
}

func noRuleHint(server string) string {
	return "check the spelling of " + server + ", and ask who keeps the policy"
}

// genuine reports whether all that is refused is signed as the rule asks, and
// waits for someone.
func (j *judgement) genuine() bool {
	return !slices.ContainsFunc(j.asked(), func(r verify.Result) bool { return !j.fine(r) && !r.Has(verify.Verified) })
}

// signedByFew reports whether all that is refused was signed as it is listed, by
// fewer than the rule wants.
func (j *judgement) signedByFew() bool {
	few := false
	for _, r := range j.asked() {
		if !j.fine(r) {
			if few = r.Has(verify.Unsigned) && r.Signed == r.Digest && !r.Digest.IsZero(); !few {
				return false
			}
		}
	}
	return few
}

// first returns the first definition with a reason, as a word for a shell;
// empty if there is none.
func (j *judgement) first(reason verify.Reason) string {
	for _, r := range j.asked() {
		if r.Has(reason) {
			return quoteWords([]string{lock.ID(r.Kind, r.Name)})
		}
	}
	return ""
}

// verifyCommand is the command that verifies the source with a bundle, which
// the user has to find. Where neither a policy nor a flag names the publisher, the
// user has to.
func (j *judgement) verifyCommand() string {
	const bundle = "RELEASE.sigstore.json"
	switch {
	case j.byPolicy():
		return j.command("add", bundle)
	case j.named:
		return nextFor(j.lockfile, "verify", j.server, j.trust, "--bundle "+bundle, j.source)
	}
	return nextFor(j.lockfile, "verify", j.server, "--bundle "+bundle, "--signer PUBLISHER", j.source)
}

// approveCommand is the command that approves what was listed.
func (j *judgement) approveCommand() string {
	if j.held {
		return j.command("approve", "--held")
	}
	return j.command("approve", j.source)
}

// explainCommand is the command that says what the policy asks for and what
// there is of it.
func (j *judgement) explainCommand() string { return j.command("policy explain", j.source) }

// command is a command about what was judged, by what it was judged with.
func (j *judgement) command(verb string, more ...string) string {
	return nextFor(j.lockfile, verb, j.server, append([]string{j.flags}, more...)...)
}

// inspectCommand is the command that shows the bundle that was judged.
func (j *judgement) inspectCommand() string {
	found := j.bundles
	if e := j.decision.Evidence(); len(found) == 0 && len(e) == 1 {
		found = j.kept(e[0].Bundle, evidenceDir, addedPath(j.server))
	} else if len(found) == 0 && j.entry != nil && len(j.entry.Evidence) == 1 {
		found = j.kept(j.entry.Evidence[0].Bundle, evidenceDir)
	}
	if len(found) != 1 {
		return "mcpsign inspect FILE"
	}
	return "mcpsign inspect " + quoteWords(found)
}

// kept returns the file of a bundle in the first of the folders beside the
// lockfile that has it, none if it lies elsewhere.
func (j *judgement) kept(bundle lock.Digest, folders ...string) []string {
	for _, folder := range folders {
		path := filepath.Join(filepath.Dir(j.lockfile), folder, contentName(bundle))
		if _, err := os.Stat(path); err == nil {
			return []string{path}
		}
	}
	return nil
}
