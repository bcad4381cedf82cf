package mcpsign

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	modmodule "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// TestModuleZip makes the archive that a module proxy serves. It can't be made,
// and nothing be installed by version, if one file has a name that some system
// does not allow, or there is too much.
func TestModuleZip(t *testing.T) {
	version := modmodule.Version{Path: module, Version: "v1.2.3"}
	if err := modzip.CreateFromDir(io.Discard, version, "."); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module " + module + "\n", "nul": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := modzip.CreateFromDir(io.Discard, version, dir); err == nil || !strings.Contains(err.Error(), "nul: ") {
		t.Errorf("a file called nul: error = %v", err)
	}
}
