package cli

import (
	"fmt"
	"io"
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
			return a.emit(form{
				document: func() any { return map[string]string{"version": version, "go": goVersion} },
				text:     func(w io.Writer) { fmt.Fprintf(w, "mcpsign %s %s\n", version, goVersion) },
			})
		},
	}
}
