package cli

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// A remark is one thing that a report for machines points at.
type remark struct {
	rule    string // a reason, a kind of change or a code of the lint
	level   string // of SARIF: error, warning or note
	server  string
	kind    lock.Kind // with the name, what it is about; empty for the server
	name    string
	message string // fit for a terminal

	file *lock.File // that the server is pinned in, nil if there is none
	path string     // of the lockfile
}

// The levels of SARIF 2.1.0 section 3.27.10.
const (
	levelError   = "error"
	levelWarning = "warning"
	levelNote    = "note"
)

// The rules that are no reason and no code of the lint.
const (
	ruleFailed = "failed"
	ruleMeta   = "meta_changed"
	ruleInfo   = "server_info"
	ruleLaunch = "launch_changed"
)

// maxRemarks is how many results a SARIF file has at most: viewers refuse or
// cut longer ones.
const maxRemarks = 5000

// sarif writes the report as SARIF 2.1.0. Results point at the entry in the
// lockfile; of what is not pinned, at its server.
func (r *report) sarif(w io.Writer) error {
	run := sarif.NewRunWithInformationURI("mcpsign", "https://github.com/mcpsign/mcpsign")
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		run.Tool.Driver.WithVersion(info.Main.Version)
	}
	lines := map[*lock.File]lock.Lines{nil: {}}
	remarks := r.remarks()
	if left := len(remarks) - maxRemarks; left > 0 {
		remarks = append(remarks[:maxRemarks-1], remark{rule: ruleFailed, level: levelNote, path: r.path, message: fmt.Sprintf("%d more results are in the JSON only", left+1)})
	}
	for _, m := range remarks {
		if m.file != nil && lines[m.file] == nil {
			lines[m.file] = m.file.Lines()
		}
		run.AddRule(m.rule).WithDescription(ruleText(m.rule))
		id := m.server
		if m.kind != "" {
			id += " " + lock.ID(m.kind, m.name)
		}
		place := sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation((&url.URL{Path: filepath.ToSlash(m.path)}).String())).
			WithRegion(sarif.NewRegion().WithStartLine(lines[m.file].Line(m.server, m.kind, m.name)))
		run.CreateResultForRule(m.rule).
			WithLevel(m.level).
			WithMessage(sarif.NewTextMessage(m.text())).
			WithPartialFingerprints(map[string]string{"definition/v1": lock.Visible(m.rule + " " + id)}).
			AddLocation(sarif.NewLocationWithPhysicalLocation(place).
				AddLogicalLocation(sarif.NewLogicalLocation().WithFullyQualifiedName(lock.Visible(id))))
	}
	run.Properties = sarif.NewPropertyBag().Add("servers", r.servers()) // also of a run without results
	if err := sarif.NewReport().AddRun(run).PrettyWrite(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// text is the message with the server that it is about.
func (m *remark) text() string {
	server := lock.Visible(m.server) + ": "
	if m.server == "" || strings.HasPrefix(m.message, server) {
		return m.message
	}
	return server + m.message
}

// servers names the servers that the report is about, each once.
func (r *report) servers() []string {
	names := []string{}
	for _, e := range r.entries {
		if name := lock.Visible(e.server); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// remarks lists what a report for machines points at, server by server.
func (r *report) remarks() []remark {
	var list []remark
	for i := range r.entries {
		e := &r.entries[i]
		for _, m := range e.remarks() {
			m.file, m.path = r.file, r.path
			if e.file != nil {
				m.file, m.path = e.file, e.path
			} else if r.file == nil {
				m.path = cmp.Or(e.path, r.path)
			}
			list = append(list, m)
		}
	}
	return list
}

func (e *entry) remarks() []remark {
	var list []remark
	add := func(rule, level string, k lock.Kind, name, message string) {
		list = append(list, remark{rule: rule, level: level, server: e.server, kind: k, name: name, message: message})
	}
	changes := make(map[string]lock.Change, len(e.changes))
	for _, c := range e.changes {
		changes[lock.ID(c.Kind, c.Name)] = c
	}
	switch {
	case e.judgement != nil:
		for _, r := range e.judgement.decision.Results() {
			for _, reason := range e.judgement.against(r) {
				message := show(r.Kind, r.Name) + " " + reasonText(reason)
				if c := changes[lock.ID(r.Kind, r.Name)]; reason == reasonOf(c.Op) {
					message += changeSummary(c)
				}
				add(string(reason), levelError, r.Kind, r.Name, message)
			}
		}
		for _, d := range e.judgement.decision.Diagnostics() {
			add(string(d.Reason), levelNote, "", "", "a bundle does not count: "+oneLine(d.Err.Error()))
		}
	case e.err != nil && len(e.changes) == 0:
		add(ruleFailed, levelError, "", "", oneLine(e.err.Error()))
	}
	for _, c := range e.changes {
		if c.Op == lock.MetaChanged {
			add(ruleMeta, levelNote, c.Kind, c.Name, show(c.Kind, c.Name)+changeNote(c))
		} else if reason := reasonOf(c.Op); e.judgement == nil {
			add(string(reason), levelError, c.Kind, c.Name, show(c.Kind, c.Name)+" "+reasonText(reason)+changeSummary(c))
		}
	}
	for _, f := range e.info {
		rule, level := ruleInfo, levelNote
		if f.Severity == lock.High && (e.judgement == nil || e.judgement.first(verify.ServerChanged) != "") {
			rule, level = string(verify.ServerChanged), levelError
		}
		add(rule, level, "", "", "what the server says of itself differs at "+f.Pointer+": "+strings.Join(diffLines(f), ", "))
	}
	if e.launch != "" {
		add(ruleLaunch, levelWarning, "", "", "the server is launched otherwise than recorded: "+e.launch)
	}
	for _, f := range e.findings {
		add(string(f.Code), levelWarning, f.Kind, f.Name, fmt.Sprintf("%s at %q: %s", show(f.Kind, f.Name), lock.Visible(f.Pointer), f.Detail))
	}
	return list
}

// against returns the reasons for which a result is no yes.
func (j *judgement) against(r verify.Result) []verify.Reason {
	if j.fine(r) {
		return nil
	}
	return slices.DeleteFunc(j.reasons(r), func(x verify.Reason) bool { return reasonCode(x) == ExitYes && x != verify.Blocked })
}

// reasonOf returns the reason that a change amounts to, empty if it is none.
func reasonOf(op lock.Op) verify.Reason {
	switch op {
	case lock.Added:
		return verify.NotLocked
	case lock.Removed:
		return verify.Missing
	case lock.Changed:
		return verify.Drift
	}
	return ""
}

// changeSummary says in one line what changed, to stand behind a sentence.
func changeSummary(c lock.Change) string {
	const most = 10
	separators := []string{": at ", ", at "}
	text := changeNote(c)
	for i, f := range c.Fields {
		if i == most {
			return text + fmt.Sprintf(", and in %d more places", len(c.Fields)-most)
		}
		text += separators[min(i, 1)] + lock.Visible(f.Pointer) + effectsText(f.Effects)
	}
	return text
}

// reasonText says what a reason means, behind the name of a definition.
func reasonText(r verify.Reason) string {
	switch r {
	case verify.Drift:
		return "differs from its pin"
	case verify.NotLocked:
		return "is not pinned"
	case verify.Missing:
		return "is pinned, or part of a complete statement, and not listed"
	case verify.NoDigest:
		return "has no digest"
	case verify.DuplicateName:
		return "is listed more than once"
	case verify.Unsigned:
		return "has no signature that applies"
	case verify.BadSignature:
		return "has evidence that does not verify"
	case verify.Unreadable:
		return "has evidence in a format that is not read"
	case verify.WrongSigner:
		return "is signed by someone else"
	case verify.WrongServer:
		return "is signed for another server"
	case verify.WrongKind:
		return "has a signed statement of another kind"
	case verify.Rollback:
		return "is covered by a statement that is older than one seen before"
	case verify.Equivocation:
		return "is covered by statements of one release that contradict each other"
	case verify.Expired:
		return "is covered by a statement or key that has expired"
	case verify.NoRule:
		return "belongs to a server for which the policy has no rule"
	case verify.Blocked:
		return "is withheld with the server, of which another definition is refused"
	case verify.Revoked:
		return "or the statement that covers it is revoked"
	case verify.VariantUnsigned:
		return "differs from a signed variant in the spelling of schemas only: the server runs with other dependencies than its publisher's"
	case verify.AttestationMissing:
		return "is signed, and lacks an attestation that the rule asks for"
	case verify.ApprovalMissing:
		return "is signed, and too few have approved it"
	case verify.SourceUnbound:
		return "comes from a launch that its statement does not name"
	case verify.SourceChanged:
		return "comes from another launch than the approved one"
	case verify.ServerChanged:
		return "is listed by a server that calls itself otherwise than the approved one"
	case verify.TrustMissing:
		return "can't be judged: a key, root or log is not known"
	}
	return string(r)
}

// ruleText says what a rule is about.
func ruleText(rule string) string {
	switch rule {
	case ruleFailed:
		return "The server could not be listed or judged."
	case ruleMeta:
		return "The top-level _meta of a definition differs, which no digest covers."
	case ruleInfo:
		return "What the server says of itself differs."
	case ruleLaunch:
		return "The server is launched otherwise than recorded."
	}
	for _, i := range lint.Codes() {
		if string(i.Code) == rule {
			return i.Help
		}
	}
	return "A definition " + reasonText(verify.Reason(rule)) + "."
}
