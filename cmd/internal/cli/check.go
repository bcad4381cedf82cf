package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "check NAME SOURCE",
		Short: "Compare what a server lists with the lockfile",
		Long: `Compare what a server lists with what is pinned, and check the signatures that
were recorded. Exit 0 if nothing differs, 10 if a definition changed or
vanished, 11 if one is not pinned; other codes say what is wrong with the
evidence.

` + sourceHelp,
		Example: `  mcpsign check io.github.acme/weather listing.json
  mcpsign check weather -- npx -y @acme/weather-mcp`,
		RunE: func(cmd *cobra.Command, list []string) error {
			names, s, err := neededSource(cmd, list, 1)
			if err != nil {
				return err
			}
			st, err := a.openStore()
			if err != nil {
				return err
			}
			defer st.close()
			j, err := a.judge(cmd.Context(), st, query{name: names[0], source: s, flags: &flags, compare: true})
			if err != nil {
				return err
			}
			return a.report(j)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}
