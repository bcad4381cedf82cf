package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Hide keeps others who run as the same user, such as the servers that are
// started, from reading the environment and the memory of this process under
// /proc, and leaves no core file. Those of the processes above, a shell for
// example, stay readable, and root reads everything.
func Hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_DUMPABLE): %w", err)
	}
	return nil
}
