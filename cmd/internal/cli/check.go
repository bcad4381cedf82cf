package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) checkCommand() *cobra.Command {
	var flags trustFlags
	var all allFlags
	var l lintFlags
	cmd := &cobra.Command{
		Use:         "check NAME [SOURCE]",
		Annotations: reports,
		Short:       "Compare what a server lists with the lockfile",
		Long: `Compare what a server lists with what is pinned, and check the recorded signatures:
exit 0 if nothing differs, 10 if a definition changed or vanished, 11 if one is not
pinned. Without SOURCE the server is launched as the lockfile records.

` + sourceHelp,
		Example: `  mcpsign check weather -- npx -y @acme/weather-mcp
  mcpsign check --all --run -o text -o sarif=mcpsign.sarif`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := l.parse(); err != nil {
				return err
			}
			if err := flags.restricting(); err != nil {
				return err
			}
			st, fetched, err := a.gather(cmd, list, &all, &flags)
			if err != nil {
				return err
			}
			defer st.close()
			r := st.report()
			r.many = all.all
			for _, f := range fetched {
				e := entry{server: f.name, err: f.err}
				if e.err == nil {
					var j *judgement
					if j, e.err = a.judge(cmd.Context(), st, query{name: f.name, source: f.source, fetched: f.got, flags: &flags, compare: true}); e.err == nil {
						e = a.checked(j, f.got)
						l.apply(&e, j, st.file)
					}
				}
				r.entries = append(r.entries, e)
			}
			return a.report(r)
		},
	}
	all.add(cmd.Flags())
	l.add(cmd)
	flags.add(a, cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

// checked returns what came of a check. What a live server lists has been met:
// it is remembered, and held for approval if it is no yes. Files are a question.
func (a *app) checked(j *judgement, f *fetched) entry {
	if f.launch.IsZero() {
		return newEntry(j, j.outcome())
	}
	lost := a.remember(j)
	j.held = a.hold(j, f)
	outcome := j.outcome()
	if outcome == nil {
		outcome = lost
	}
	return newEntry(j, outcome)
}

// lintFlags ask for the lint.
type lintFlags struct {
	lint   bool
	failOn []string
	codes  []lint.Code
}

func (l *lintFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.lint, "lint", false, "show what a person should know before approving: hidden characters, look-alike names ...")
	cmd.Flags().StringSliceVar(&l.failOn, "fail-on", nil, "`CODES` of the lint that are a no (exit 17); implies --lint")
}

func (l *lintFlags) parse() error {
	for _, s := range l.failOn {
		c, err := lint.ParseCode(s)
		if err != nil {
			var known []string
			for _, i := range lint.Codes() {
				known = append(known, string(i.Code))
			}
			return fail(ExitUsage, err, "the codes are "+strings.Join(known, ", "))
		}
		l.codes = append(l.codes, c)
	}
	return nil
}

// apply adds the findings to an entry. They make a yes a no where --fail-on
// says so.
func (l *lintFlags) apply(e *entry, j *judgement, file *lock.File) {
	if !l.lint && len(l.codes) == 0 {
		return
	}
	e.findings = lint.Check(j.listing, j.server, file)
	i := slices.IndexFunc(e.findings, func(f lint.Finding) bool { return slices.Contains(l.codes, f.Code) })
	if i >= 0 && e.err == nil {
		f := e.findings[i]
		e.err = fail(ExitLint, fmt.Errorf("%s: %s of %s", e.server, f.Code, show(f.Kind, f.Name)), "look at what the server lists, and ask its publisher to change it")
	}
}
