package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) policyExplainCommand() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "explain NAME[/KIND:NAME] [SOURCE]",
		Short: "Say which rule decides about a server, what it needs and what there is",
		Long: `Decide about what is pinned, or what SOURCE lists, and say for each definition, or
the one that is named, which rule of which policy decided, what that asks for, what
was found and what is missing. The exit code is that of the decision.

` + sourceHelp,
		Example: `  mcpsign policy explain acme/weather --policy policy.yaml
  mcpsign policy explain acme/weather/tool:get_forecast listing.json --policy policy.yaml`,
		RunE: func(cmd *cobra.Command, list []string) error {
			names, s, err := sourceOf(cmd, list, 1)
			if err != nil {
				return err
			}
			return a.explainPolicy(cmd, names[0], s, &flags)
		},
	}
	flags.add(a, cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

func (a *app) explainPolicy(cmd *cobra.Command, name string, s source, flags *trustFlags) error {
	if err := flags.restricting(); err != nil {
		return err
	}
	server, id := splitDefinition(name)
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	q := query{name: server, source: s, flags: flags, compare: true}
	if s.empty() {
		_, found, err := st.lookUp(server, flags)
		if err != nil {
			return err
		}
		ruled, err := flags.ruled()
		switch {
		case err != nil:
			return err
		case found != nil:
			q.listing = pinnedListings(found)[0]
		case !ruled || id != "":
			return usage("usage: "+cmd.UseLine(), "a source is needed: "+st.notPinned(server))
		default: // which rule there is for it can be said
			q.listing = &lock.Listing{}
		}
	}
	j, err := a.judge(cmd.Context(), st, q)
	if err != nil {
		return err
	}
	var all []verify.Explanation
	for _, r := range j.decision.Results() {
		if id == "" || id == lock.ID(r.Kind, r.Name) {
			all = append(all, j.decision.Explain(r.Kind, r.Name)...)
		}
	}
	if len(all) == 0 && id != "" {
		var ids []string
		for _, r := range j.decision.Results() {
			ids = append(ids, lock.ID(r.Kind, r.Name))
		}
		text := fmt.Sprintf("%s of %s is neither listed nor pinned", lock.Visible(id), j.server)
		if names := closest(id, ids); len(names) > 0 {
			text += "; there are " + listed(names, len(ids))
		}
		return fail(ExitUnpinned, errors.New(text), "")
	}
	if err := a.emit(form{document: func() any { return explainDocument(j, all) }, text: func(w io.Writer) { explainText(w, j, all) }}); err != nil {
		return err
	}
	if len(j.decision.Results()) == 0 && id == "" && s.empty() {
		if j.decision.Ruled() {
			return nil
		}
		return fail(ExitUnsigned, fmt.Errorf("%s: %s%s", j.server, lock.Visible(j.decision.Rule()), j.elsewhere(verify.NoRule)), noRuleHint(j.server))
	}
	j.explained, j.only = true, id
	return j.outcome()
}

// splitDefinition splits SERVER/KIND:NAME; the ID is empty if there is none.
func splitDefinition(name string) (server, id string) {
	for _, k := range lock.Kinds() {
		if i := strings.Index(name, "/"+string(k)+":"); i >= 0 {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}

// The JSON of policy explain.
type (
	explainDoc struct {
		Server       string           `json:"server"`
		Authority    []authority      `json:"authority,omitempty"`
		Rule         string           `json:"rule,omitempty"`     // where nothing was decided on
		Expected     []string         `json:"expected,omitempty"` // likewise: one of them has to sign
		Explanations []explanationDoc `json:"explanations"`
	}
	explanationDoc struct {
		Kind    lock.Kind       `json:"kind"`
		Name    string          `json:"name"`
		Policy  string          `json:"policy,omitempty"`
		Line    int             `json:"line,omitempty"`
		Rule    string          `json:"rule"`
		Verdict string          `json:"verdict"`
		Reasons []verify.Reason `json:"reasons"`
		Needs   []needDoc       `json:"needs"`
	}
	needDoc struct {
		Code  verify.NeedCode `json:"code"`
		Want  string          `json:"want"`
		Met   bool            `json:"met"`
		Found []foundDoc      `json:"found"`
	}
	foundDoc struct {
		Text   string `json:"text"`
		Counts bool   `json:"counts"`
	}
)

func explainDocument(j *judgement, all []verify.Explanation) explainDoc {
	doc := explainDoc{Server: j.server, Authority: j.read, Explanations: []explanationDoc{}}
	if len(all) == 0 {
		doc.Rule, doc.Expected = j.decision.Rule(), j.decision.Expected()
	}
	for _, x := range all {
		d := explanationDoc{Kind: x.Result.Kind, Name: x.Result.Name, Policy: x.Policy, Line: x.Line, Rule: x.Rule,
			Verdict: x.Result.Verdict.String(), Reasons: x.Result.Reasons, Needs: []needDoc{}}
		for _, n := range x.Needs {
			need := needDoc{n.Code, n.Want, n.Met, []foundDoc{}}
			for _, f := range n.Found {
				need.Found = append(need.Found, foundDoc{f.Text, f.Counts})
			}
			d.Needs = append(d.Needs, need)
		}
		doc.Explanations = append(doc.Explanations, d)
	}
	return doc
}

// explainText prints what is said of several definitions once.
func explainText(w io.Writer, j *judgement, all []verify.Explanation) {
	fmt.Fprintf(w, "server   %s\n", j.server)
	if len(all) == 0 {
		fmt.Fprintf(w, "rule     %s\n", lock.Visible(j.decision.Rule()))
		if expected := j.decision.Expected(); len(expected) > 0 {
			fmt.Fprintf(w, "signed   by %s\n", orEach(expected))
		}
	}
	names := make(map[string][]string)
	var texts []string
	for _, x := range all {
		text := needsText(x)
		if names[text] == nil {
			texts = append(texts, text)
		}
		var reasons []string
		for _, r := range x.Result.Reasons {
			reasons = append(reasons, string(r))
		}
		names[text] = append(names[text], fmt.Sprintf("%-9s %s  %s\n", x.Result.Verdict, show(x.Result.Kind, x.Result.Name), strings.Join(reasons, ", ")))
	}
	for _, text := range texts {
		fmt.Fprint(w, strings.Join(names[text], ""), text)
	}
	j.boundText(w)
	for _, r := range j.read {
		r.text(w)
	}
}

func needsText(x verify.Explanation) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%srule %s\n", margin, lock.Visible(x.Rule))
	for _, n := range x.Needs {
		mark := "missing"
		if n.Met {
			mark = "met"
		}
		fmt.Fprintf(w, "%s%-8s %s: %s\n", margin, mark, n.Code, n.Want)
		for _, f := range n.Found {
			counts := "no"
			if f.Counts {
				counts = "yes"
			}
			fmt.Fprintf(w, "%s         %-4s %s\n", margin, counts, f.Text)
		}
	}
	return w.String()
}
