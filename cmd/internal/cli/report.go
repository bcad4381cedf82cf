package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// A report is what a command that judges or compares has found, for each
// server.
type report struct {
	entries []entry
	many    bool       // the command is about many servers, if it found only one
	file    *lock.File // the lockfile, for the places in it; nil if there is none
	path    string     // of the lockfile
}

// An entry is what was found out about one server. Without a judgement and
// changes, err says why there are none.
type entry struct {
	server    string
	sources   bool       // server has the names of two sources
	path      string     // of its lockfile, if it is not the report's
	file      *lock.File // what is in it
	judgement *judgement // nil: there was none
	changes   []lock.Change
	info      []lock.Field // of what the server says of itself
	launch    string       // how the launch differs from the recorded one; empty if it does not
	findings  []lint.Finding
	pinned    *lock.Server // what lock has pinned
	others    []string     // what it says about the lockfile of another tool
	alone     *ExitCode    // what it is without what this machine has seen, if that is something else
	err       error        // nil for a yes
}

// report returns a report about servers of the store.
func (s *store) report(entries ...entry) *report {
	return &report{entries: entries, file: s.file, path: s.path}
}

// newEntry returns the entry of a judgement.
func newEntry(j *judgement, outcome error) entry {
	e := entry{server: j.server, judgement: j, err: outcome}
	if outcome != nil {
		if alone, changed := j.withoutState(codeOf(outcome)); changed {
			e.alone = &alone
		}
	}
	if j.entry != nil && j.compare && j.source != "" { // the lockfile itself differs from nothing
		e.changes = j.entry.Diff(j.listing)
		e.info = compareInfo(j.entry.Info, j.listing.Info(), j.launch)
		e.launch = launchNote(j.entry.Source, j.launch)
	}
	return e
}

// compareInfo lists what a server says of itself otherwise than before. Files may
// lack its answer to initialize.
func compareInfo(before, now lock.Info, launch lock.Source) []lock.Field {
	if now == (lock.Info{}) && launch.IsZero() {
		return nil
	}
	return lock.CompareInfo(before, now)
}

// report writes what was found and returns the error that it comes down to.
func (a *app) report(r *report) error {
	var outcomes []error
	for _, e := range r.entries {
		outcomes = append(outcomes, e.err)
	}
	outcome := combine(outcomes)
	if outcome != nil && r.nothing() {
		if codeOf(outcome) == ExitUsage {
			return outcome
		}
		// The error says it all; a report for machines has to say it too.
		a.sinks = slices.DeleteFunc(a.sinks, func(s sink) bool { return s.format == formatText })
	}
	if err := a.emit(form{text: r.text, document: r.document, report: r}); err != nil {
		return err
	}
	return outcome
}

// nothing reports whether the report is about one server of which nothing is
// known.
func (r *report) nothing() bool {
	return !r.many && len(r.entries) == 1 && r.entries[0].judgement == nil && len(r.entries[0].changes)+len(r.entries[0].others) == 0
}

func (r *report) text(w io.Writer) {
	for _, e := range r.entries {
		if r.many {
			fmt.Fprintf(w, "%s\n", e.title())
		} else if !e.sources {
			fmt.Fprintf(w, "server   %s\n", lock.Visible(e.server))
		}
		e.text(w)
	}
}

func (r *report) document() any {
	if !r.many && len(r.entries) == 1 {
		return r.entries[0].document()
	}
	return &manyDocs{len(r.entries), func(i int) any { return r.entries[i].document() }}
}

// title names the server, and its lockfile if there are several.
func (e *entry) title() string {
	if e.file == nil {
		return lock.Visible(e.server)
	}
	return lock.Visible(e.path) + " " + e.server
}

// The JSON of verify, check, lock and diff.
type (
	reportDoc struct {
		Server      string          `json:"server"`
		Lockfile    string          `json:"lockfile,omitempty"` // if there are several
		Rule        string          `json:"rule,omitempty"`
		Authority   []authority     `json:"authority,omitempty"`
		Exit        ExitCode        `json:"exit"`
		Stateless   *ExitCode       `json:"withoutState,omitempty"` // what Exit is without what this machine has seen, if that is something else
		Error       string          `json:"error,omitempty"`        // why there is no yes
		Definitions []resultDoc     `json:"definitions,omitempty"`
		Changes     []changeDoc     `json:"changes,omitempty"`
		Info        []fieldDoc      `json:"info,omitempty"`      // of what the server says of itself
		Launch      string          `json:"launch,omitempty"`    // how it is launched otherwise than recorded
		Artifacts   []artifactDoc   `json:"artifacts,omitempty"` // what was launched, as far as it was read
		Named       []string        `json:"named,omitempty"`     // what the release names, if that is not among it
		Doubt       string          `json:"doubt,omitempty"`     // why something else may have been launched
		Held        bool            `json:"held,omitempty"`      // approve --held approves what was listed
		Findings    []findingDoc    `json:"findings,omitempty"`  // of the lint
		Other       []string        `json:"other,omitempty"`     // about the lockfile of another tool
		Bundles     []diagnosticDoc `json:"bundles,omitempty"`   // that do not count
		Missing     []string        `json:"missing,omitempty"`   // bundles that the lockfile records and that are not there
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
		Error   string          `json:"error,omitempty"`
	}
	diagnosticDoc struct {
		Bundle string        `json:"bundle"`
		Reason verify.Reason `json:"reason"`
		Signer *lock.Signer  `json:"signer,omitempty"`
		Error  string        `json:"error"`
	}
)

func (e *entry) document() reportDoc {
	doc := reportDoc{Server: e.server, Launch: e.launch, Changes: changeDocs(e.changes), Info: fieldDocs(e.info), Findings: findingDocs(e.findings), Other: e.others}
	doc.Stateless = e.alone
	if e.file != nil {
		doc.Lockfile = e.path
	}
	if e.err != nil {
		doc.Exit, doc.Error = codeOf(e.err), oneLine(e.err.Error())
	}
	if e.judgement != nil {
		e.judgement.document(&doc)
	}
	return doc
}

func (j *judgement) document(doc *reportDoc) {
	doc.Rule, doc.Authority, doc.Expected, doc.Held = j.decision.Rule(), j.read, j.decision.Expected(), j.held
	doc.Artifacts = artifactDocs(j.request.Source.Artifacts)
	doc.Doubt = j.request.Doubt
	if j.first(verify.SourceUnbound) != "" {
		doc.Named = j.decision.Named()
	}
	for _, r := range j.decision.Results() {
		d := resultDoc{Kind: r.Kind, Name: r.Name, Verdict: j.verdict(r), Reasons: j.reasons(r),
			Digest: digestText(r.Digest), Pinned: digestText(r.Pinned), Signed: digestText(r.Signed), Signers: r.Signers}
		if r.Refused != nil {
			d.Error = r.Refused.Error()
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
