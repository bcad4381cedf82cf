package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "policy",
		Short:   "Write, check and explain policies",
		Example: "  mcpsign policy check policy.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("see: mcpsign policy --help", "a command is needed: init, check or explain")
		},
	}
	cmd.AddCommand(a.policyInitCommand(), a.policyCheckCommand(), a.policyExplainCommand())
	return cmd
}

func (a *app) policyCheckCommand() *cobra.Command {
	var failOn []string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong with a policy, and what is doubtful",
		Long: `Read a policy with all files that it names. What is wrong is an error with its line
and column; what is doubtful (rules that can never match, identities that match nobody
or more than one workflow, expired roots) is listed, and a no only where --fail-on names its code.`,
		Example: "  mcpsign policy check policy.yaml\n  mcpsign policy check policy.yaml --fail-on unreachable,broad_identity",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, names []string) error {
			return a.checkPolicy(names[0], failOn)
		},
	}
	cmd.Flags().StringSliceVar(&failOn, "fail-on", nil, "`CODES` of findings that are a no (exit 17)")
	return cmd
}

// policyCodes are the codes of the findings of policy check.
var policyCodes = []verify.FindingCode{verify.Unreachable, verify.OutOfScope, verify.BroadIdentity, verify.LiteralStar, verify.ExpiredRoot, verify.AnyRoot, verify.UnusedPublisher, verify.CurrentTime, verify.Unfinished}

func (a *app) checkPolicy(name string, failOn []string) error {
	for _, c := range failOn {
		if !slices.Contains(policyCodes, verify.FindingCode(c)) {
			return usage(fmt.Sprintf("the codes are %s", strings.Trim(fmt.Sprint(policyCodes), "[]")), "findings have no code "+lock.Visible(c))
		}
	}
	flags := trustFlags{app: a}
	p, err := flags.readPolicy("policy", name)
	if err != nil {
		return err
	}
	type doc struct {
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	docs := []doc{}
	var no *verify.Finding
	for _, f := range p.Lint(a.Now()) {
		docs = append(docs, doc{f.Line, f.Column, string(f.Code), f.Message})
		if no == nil && slices.Contains(failOn, string(f.Code)) {
			no = &f
		}
	}
	err = a.emit(form{
		document: func() any { return map[string]any{"policy": name, "digest": flags.read[0].Digest, "findings": docs} },
		text: func(w io.Writer) {
			for _, d := range docs {
				fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", lock.Visible(name), d.Line, d.Column, d.Code, lock.Visible(d.Message))
			}
			fmt.Fprintf(w, "policy   %s  %s\n", lock.Visible(name), flags.read[0].Digest)
		},
	})
	if err == nil && no != nil {
		err = fail(ExitLint, fmt.Errorf("%s:%d:%d: %s: %s", lock.Visible(name), no.Line, no.Column, no.Code, lock.Visible(no.Message)), "")
	}
	return err
}

func (a *app) policyInitCommand() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print a policy for what the lockfile has, as far as it verifies",
		Long: `Verify the lockfile and print a policy with a rule for each signed server: its
signer, of any tag where a tag was signed. Read it, and put it where policies are
looked for; a server without a rule is refused then. Unsigned servers are named
in comments: whether pins alone are enough for them is for a person to say.`,
		Example: "  mcpsign policy init > policy.yaml",
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.initPolicy(cmd, &flags) },
	}
	flags.add(a, cmd.Flags())
	return cmd
}

func (a *app) initPolicy(cmd *cobra.Command, flags *trustFlags) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	if err := st.verifiable(flags); err != nil {
		return err
	}
	entries := a.verifyServers(cmd.Context(), st, st.file.Servers, flags, verifyFlags{})
	var outcomes []error
	for _, e := range entries {
		outcomes = append(outcomes, e.err)
	}
	if err := combine(outcomes); err != nil {
		return err
	}
	var rules, unsigned []string
	for i := range st.file.Servers {
		s := &st.file.Servers[i]
		var ids []string
		for _, e := range s.Evidence {
			id := anyTag(verify.IdentityOf(e.Signer).String())
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			unsigned = append(unsigned, s.Name)
			continue
		}
		rules = append(rules, fmt.Sprintf("  - servers: [%q]\n    signedBy: [%s]\n", s.Name, quoteAll(ids)))
	}
	if len(rules) == 0 {
		return fail(ExitUnsigned, fmt.Errorf("%s has no server with a signature: a policy could only say that pins are enough", lock.Visible(a.lock)), "")
	}
	return a.emit(form{
		document: func() any {
			return map[string]any{"policy": policyText(rules, unsigned)}
		},
		text: func(w io.Writer) { fmt.Fprint(w, policyText(rules, unsigned)) },
	})
}

func policyText(rules, unsigned []string) string {
	text := "version: 1\nrules:\n" + strings.Join(rules, "")
	for _, name := range unsigned {
		text += "  # no signature: " + name + "\n"
	}
	return text
}

// tag is a tag in the identity of a CI job: of its workflow, or of the repository
// that calls that.
var tag = regexp.MustCompile(`@(refs/tags/(?:[^?&]*/)?)[^?&/]+`)

// anyTag returns an identity with a glob instead of each tag that was signed.
func anyTag(id string) string {
	if !strings.HasPrefix(id, "github:") && !strings.HasPrefix(id, "gitlab:") {
		return id
	}
	return tag.ReplaceAllString(id, "@${1}*")
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, ", ")
}
