package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// margin is how far the lines below a definition are indented.
const margin = "         "

// text prints one line a definition, and below it what was expected and found.
func (e *entry) text(w io.Writer) {
	rest := e.changes
	for _, line := range e.others {
		fmt.Fprintln(w, line)
	}
	if len(e.others) > 0 && e.judgement == nil {
		return
	}
	if e.pinned != nil {
		pinnedText(w, e.pinned, e.path)
		return
	}
	switch {
	case e.judgement != nil:
		rest = e.judgement.text(w, rest)
	case e.err != nil && len(rest) == 0:
		fmt.Fprintf(w, "%-8s %s\n", "REFUSED", oneLine(e.err.Error()))
		return
	}
	for _, c := range rest {
		fmt.Fprintf(w, "%-8s %s%s\n", c.Op, show(c.Kind, c.Name), changeNote(c))
		for _, f := range c.Fields {
			fieldText(w, f)
		}
	}
	infoText(w, e.info)
	if e.launch != "" {
		fmt.Fprintf(w, "launch   %s\n", e.launch)
	}
	findingText(w, e.findings)
	if e.judgement != nil {
		e.judgement.evidence(w)
		if e.alone != nil {
			fmt.Fprintf(w, "state    what this machine has seen of the server decided; without it the exit code is %d\n", *e.alone)
		}
		if e.judgement.held {
			fmt.Fprintf(w, "held     for: %s\n", e.judgement.approveCommand())
		}
	}
}

// infoText prints what a server says of itself otherwise than before.
func infoText(w io.Writer, fields []lock.Field) {
	for i, f := range fields {
		if i == 0 {
			fmt.Fprintln(w, "server   what it says of itself changed")
		}
		fieldText(w, f)
	}
}

// text prints the results, each with its change, and returns the changes of no
// result.
func (j *judgement) text(w io.Writer, changes []lock.Change) (rest []lock.Change) {
	byID := make(map[string]lock.Change, len(changes))
	for _, c := range changes {
		byID[lock.ID(c.Kind, c.Name)] = c
	}
	for _, r := range j.decision.Results() {
		var reasons []string
		for _, x := range j.reasons(r) {
			reasons = append(reasons, string(x))
		}
		id := lock.ID(r.Kind, r.Name)
		c := byID[id]
		delete(byID, id)
		mark := "ok"
		if !j.fine(r) {
			mark = "REFUSED"
		}
		fmt.Fprintf(w, "%-8s %s  %s%s\n", mark, lock.Visible(id), strings.Join(reasons, ", "), changeNote(c))
		if mark != "ok" {
			j.explain(w, r)
		}
		for _, f := range c.Fields {
			fieldText(w, f)
		}
		if c.Meta {
			j.metaText(w, c)
		}
	}
	for _, c := range changes {
		if _, left := byID[lock.ID(c.Kind, c.Name)]; left {
			rest = append(rest, c)
		}
	}
	return rest
}

// explain prints what was expected of a definition, and what was found.
func (j *judgement) explain(w io.Writer, r verify.Result) {
	found := "nothing: it is not listed"
	if !r.Digest.IsZero() {
		found = r.Digest.String()
		if r.Has(verify.Rollback) && !r.Signed.IsZero() {
			found += ", of an older release"
		}
	}
	expected := func(what, found string) {
		fmt.Fprintf(w, "%sexpected %s\n%sfound    %s\n", margin, what, margin, found)
	}
	switch {
	case r.Refused != nil:
		fmt.Fprintf(w, "%s%v\n", margin, r.Refused)
	case !r.Pinned.IsZero() && r.Pinned != r.Digest:
		expected(r.Pinned.String()+" (pinned)", found)
	case !r.Signed.IsZero() && r.Signed != r.Digest:
		expected(r.Signed.String()+" (signed)", found)
	case len(j.decision.Evidence()) > 0 && r.Signed.IsZero():
		expected("a definition that is signed", found+", which the statement does not name")
	case r.Has(verify.WrongSigner) && len(r.Signers) > 0:
		expected(orEach(j.recordedSigners())+" (pinned)", r.Signers[0].String())
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

// evidence prints who signed, and if anything is refused, which bundles do not
// count.
func (j *judgement) evidence(w io.Writer) {
	defer func() {
		fmt.Fprintf(w, "rule     %s\n", lock.Visible(j.decision.Rule()))
		for _, r := range j.read {
			r.text(w)
		}
	}()
	j.boundText(w)
	for _, h := range j.decision.Evidence() {
		fmt.Fprintf(w, "signed   by %s, sequence %d\n", h.Signer, h.Sequence)
	}
	if !slices.ContainsFunc(j.decision.Results(), func(r verify.Result) bool { return !j.fine(r) }) {
		for _, d := range j.decision.Diagnostics() {
			if slices.Contains(j.given, d.Bundle) {
				j.diagnosticText(w, d)
			}
		}
		return
	}
	expected := orEach(j.decision.Expected())
	for _, d := range j.missing {
		fmt.Fprintf(w, "bundle   %s  missing\n         expected %s, signed by %s\n         found    no such file\n",
			shorten(d), lock.Visible(filepath.Join(filepath.Dir(j.lockfile), blobName(d))), expected)
	}
	if expected != "" && codeOf(j.decision.Err()) != ExitTrust && len(j.missing)+len(j.decision.Evidence())+len(j.decision.Diagnostics()) == 0 {
		fmt.Fprintf(w, "bundle   none\n         expected one signed by %s\n         found    none: not with --bundle, not in %s, not in the listing\n", expected, evidenceDir)
	}
	for _, d := range j.decision.Diagnostics() {
		j.diagnosticText(w, d)
	}
}

// diagnosticText prints why a bundle or a status does not count.
func (j *judgement) diagnosticText(w io.Writer, d verify.Diagnostic) {
	what := "bundle"
	if d.Type == verify.StatusType {
		what = "status"
	}
	fmt.Fprintf(w, "%-8s %s  %s\n", what, shorten(d.Bundle), d.Reason)
	switch {
	case d.Reason == verify.WrongSigner:
		names := j.decision.ExpectedOf(d.Type)
		fmt.Fprintf(w, "         expected %s\n", j.expectedOf(d.Type))
		fmt.Fprintf(w, "         found    %s\n", signerText(d))
		for _, id := range names {
			mismatchText(w, id, d.Signer)
		}
	case d.Reason == verify.WrongServer && d.Type != attest.ApprovalType: // of an approval it is the audience that differs
		fmt.Fprintf(w, "         expected server %s\n         found    %v\n", j.server, d.Err)
	default:
		fmt.Fprintf(w, "         %s\n", lock.Visible(d.Err.Error()))
	}
}

// expectedOf says who should have signed a statement of a predicate type, or one of
// a signer who is not known, whose type counts for nothing.
func (j *judgement) expectedOf(predicateType string) string {
	reviewers, signers := j.decision.ExpectedOf(attest.ApprovalType), j.decision.Expected()
	switch asked := !slices.Equal(reviewers, signers); {
	case asked && predicateType == attest.ApprovalType:
		return "an approval by " + orEach(reviewers)
	case asked && predicateType == "":
		return orEach(signers) + ", or an approval by " + orEach(reviewers)
	}
	return orEach(j.decision.ExpectedOf(predicateType))
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
