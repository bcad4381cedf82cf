package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// The JSON of verify, check and lock.
type (
	reportDoc struct {
		Server      string          `json:"server"`
		Rule        string          `json:"rule"`
		Authority   []authority     `json:"authority,omitempty"`
		Exit        ExitCode        `json:"exit"`
		Definitions []resultDoc     `json:"definitions"`
		Bundles     []diagnosticDoc `json:"bundles,omitempty"` // that do not count
		Missing     []string        `json:"missing,omitempty"` // bundles that the lockfile records and that are not there
		Expected    []string        `json:"expected,omitempty"`
	}
	resultDoc struct {
		Kind    lock.Kind       `json:"kind"`
		Name    string          `json:"name"`
		Digest  string          `json:"digest,omitempty"`
		Verdict string          `json:"verdict"`
		Reasons []verify.Reason `json:"reasons"`
		Pinned  string          `json:"pinned,omitempty"`
		Signed  string          `json:"signed,omitempty"`
		Signers []lock.Signer   `json:"signers,omitempty"`
		Changes []fieldDoc      `json:"changes,omitempty"`
		Error   string          `json:"error,omitempty"`
	}
	fieldDoc struct {
		Pointer string  `json:"pointer"`
		Old     *string `json:"old,omitempty"` // canonical JSON
		New     *string `json:"new,omitempty"`
	}
	diagnosticDoc struct {
		Bundle string        `json:"bundle"`
		Reason verify.Reason `json:"reason"`
		Signer *lock.Signer  `json:"signer,omitempty"`
		Error  string        `json:"error"`
	}
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
			if c == ExitYes || reason == verify.NotLocked && !j.compare {
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
		return "compare who signed what with what the publisher documents: " + j.inspectCommand()
	case ExitOutdated:
		return "use the newest release of the server and its bundle"
	case ExitTrust:
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

// report prints a judgement to standard output.
func (a *app) report(j *judgement) error {
	outcome := j.outcome()
	if a.output == "json" {
		if err := a.printJSON(j.document(outcome)); err != nil {
			return err
		}
		return outcome
	}
	j.text(a.Stdout)
	return outcome
}

func (j *judgement) document(outcome error) reportDoc {
	doc := reportDoc{Server: j.server, Rule: j.decision.Rule(), Authority: j.read, Definitions: []resultDoc{}, Expected: j.decision.Expected()}
	if outcome != nil {
		doc.Exit = codeOf(outcome)
	}
	for _, r := range j.decision.Results() {
		d := resultDoc{Kind: r.Kind, Name: r.Name, Verdict: j.verdict(r), Reasons: j.reasons(r),
			Digest: digestText(r.Digest), Pinned: digestText(r.Pinned), Signed: digestText(r.Signed), Signers: r.Signers}
		if r.Refused != nil {
			d.Error = r.Refused.Error()
		}
		for _, f := range j.fields(r) {
			d.Changes = append(d.Changes, fieldDoc{f.Pointer, jsonText(f.Old), jsonText(f.New)})
		}
		doc.Definitions = append(doc.Definitions, d)
	}
	for _, x := range j.decision.Diagnostics() {
		d := diagnosticDoc{Bundle: digestText(x.Bundle), Reason: x.Reason, Error: x.Err.Error()}
		if !x.Signer.IsZero() {
			d.Signer = &x.Signer
		}
		doc.Bundles = append(doc.Bundles, d)
	}
	for _, d := range j.missing {
		doc.Missing = append(doc.Missing, d.String())
	}
	return doc
}

// verdict names a verdict. Where pins are not asked for it is about the
// signature alone: "verified" or "deny".
func (j *judgement) verdict(r verify.Result) string {
	switch {
	case j.compare:
		return r.Verdict.String()
	case j.fine(r):
		return string(verify.Verified)
	}
	return verify.Deny.String()
}

// reasons returns the reasons of a result. That a definition is not pinned is
// none where pins are not asked for.
func (j *judgement) reasons(r verify.Result) []verify.Reason {
	return slices.DeleteFunc(slices.Clone(r.Reasons), func(x verify.Reason) bool { return !j.compare && x == verify.NotLocked })
}

func digestText(d lock.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

func jsonText(form []byte) *string {
	if form == nil {
		return nil
	}
	s := string(form)
	return &s
}

// fields returns what differs between a listed definition and its pin.
func (j *judgement) fields(r verify.Result) []lock.Field {
	if j.entry == nil || r.Digest.IsZero() || r.Pinned.IsZero() || r.Pinned == r.Digest {
		return nil
	}
	i := slices.IndexFunc(j.listing.Definitions, func(d lock.Definition) bool { return d.Kind() == r.Kind && d.Name() == r.Name })
	pins := j.entry.Pin(r.Kind, r.Name)
	if i < 0 || len(pins) == 0 {
		return nil
	}
	return lock.Compare(pins[0].Definition, j.listing.Definitions[i])
}

// text prints one line a definition, and below it what was expected and found.
func (j *judgement) text(w io.Writer) {
	for _, r := range j.decision.Results() {
		var reasons []string
		for _, x := range j.reasons(r) {
			reasons = append(reasons, string(x))
		}
		mark := "ok"
		if !j.fine(r) {
			mark = "REFUSED"
		}
		fmt.Fprintf(w, "%-8s %s  %s\n", mark, show(r.Kind, r.Name), strings.Join(reasons, ", "))
		if mark != "ok" {
			j.explain(w, r)
		}
	}
	j.evidence(w)
}

// explain prints what was expected of a definition, and what was found.
func (j *judgement) explain(w io.Writer, r verify.Result) {
	found := "nothing: it is not listed"
	if !r.Digest.IsZero() {
		found = r.Digest.String()
	}
	switch {
	case r.Refused != nil:
		fmt.Fprintf(w, "         %v\n", r.Refused)
	case !r.Pinned.IsZero() && r.Pinned != r.Digest:
		fmt.Fprintf(w, "         expected %s (pinned)\n         found    %s\n", r.Pinned, found)
	case !r.Signed.IsZero() && r.Signed != r.Digest:
		fmt.Fprintf(w, "         expected %s (signed)\n         found    %s\n", r.Signed, found)
	case len(j.decision.HighWater()) > 0 && len(r.Signers) == 0:
		fmt.Fprintf(w, "         expected a definition that is signed\n         found    %s, which the statement does not name\n", found)
	case r.Has(verify.WrongSigner) && len(r.Signers) > 0:
		fmt.Fprintf(w, "         expected %s (pinned)\n         found    %s\n", orEach(j.recordedSigners()), r.Signers[0])
	}
	for _, f := range j.fields(r) {
		fmt.Fprintf(w, "         at %s\n", lock.Visible(f.Pointer))
		if f.Old != nil {
			fmt.Fprintf(w, "         - %s\n", lock.VisibleJSON(f.Old))
		}
		if f.New != nil {
			fmt.Fprintf(w, "         + %s\n", lock.VisibleJSON(f.New))
		}
	}
}

// recordedSigners returns who signed what is pinned, as the lockfile says.
func (j *judgement) recordedSigners() []string {
	var signers []string
	for _, e := range j.entry.Evidence {
		signers = append(signers, e.Signer.String())
	}
	return signers
}

// orEach puts alternatives below each other.
func orEach(list []string) string { return strings.Join(visible(list), "\n               or ") }

// evidence prints which bundles do not count, if anything is refused, and who
// signed, if nothing is.
func (j *judgement) evidence(w io.Writer) {
	defer func() {
		fmt.Fprintf(w, "rule     %s\n", lock.Visible(j.decision.Rule()))
		for _, r := range j.read {
			fmt.Fprintf(w, "%-8s %s  %s\n", r.Role, lock.Visible(r.Path), r.Digest)
		}
	}()
	results := j.decision.Results()
	refused := slices.ContainsFunc(results, func(r verify.Result) bool { return !j.fine(r) })
	if !refused {
		for _, h := range j.decision.HighWater() {
			fmt.Fprintf(w, "signed   by %s, sequence %d\n", h.Signer, h.Sequence)
		}
		return
	}
	expected := orEach(j.decision.Expected())
	for _, d := range j.missing {
		fmt.Fprintf(w, "bundle   %s  missing\n         expected %s, signed by %s\n         found    no such file\n",
			shorten(d), lock.Visible(filepath.Join(j.folder, blobName(d))), expected)
	}
	if expected != "" && len(j.missing)+len(j.decision.HighWater())+len(j.decision.Diagnostics()) == 0 {
		fmt.Fprintf(w, "bundle   none\n         expected one signed by %s\n         found    none: not with --bundle, not in %s, not in the listing\n", expected, evidenceDir)
	}
	for _, d := range j.decision.Diagnostics() {
		fmt.Fprintf(w, "bundle   %s  %s\n", shorten(d.Bundle), d.Reason)
		switch d.Reason {
		case verify.WrongSigner:
			fmt.Fprintf(w, "         expected %s\n", expected)
			fmt.Fprintf(w, "         found    %s\n", signerText(d))
		case verify.WrongServer:
			fmt.Fprintf(w, "         expected server %s\n         found    %v\n", j.server, d.Err)
		default:
			fmt.Fprintf(w, "         %s\n", lock.Visible(d.Err.Error()))
		}
	}
}

func visible(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = lock.Visible(s)
	}
	return out
}

func signerText(d verify.Diagnostic) string {
	if d.Signer.IsZero() {
		return lock.Visible(d.Err.Error())
	}
	if id := verify.IdentityOf(d.Signer).String(); id != "" {
		return lock.Visible(id)
	}
	return d.Signer.String()
}

// shorten returns the start of a digest, enough to tell bundles apart.
func shorten(d lock.Digest) string {
	if d.IsZero() {
		return "(more)"
	}
	return d.String()[:len("sha256:")+12] + "..."
}
