package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mcpsign version -o json",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			version, goVersion := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
			}
			if a.output == "json" {
				return a.printJSON(map[string]string{"version": version, "go": goVersion})
			}
			_, err := fmt.Fprintf(a.Stdout, "mcpsign %s %s\n", version, goVersion)
			return err
		},
	}
}
