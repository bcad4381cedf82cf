package mcpsign

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcpsign/mcpsign"

// allowed lists what each package may import of ours. Imports run one way, from
// the command to the digest; a package that is not listed may import nothing.
var allowed = map[string][]string{
	"cmd/mcpsign":           {"cmd/internal/cli"},
	"cmd/internal/cli":      {"cmd/internal/web", "cmd/internal/secret", "cmd/internal/mcp", "cmd/internal/launch", "cmd/internal/hosts", "cmd/internal/lint", "cmd/internal/baseline", "cmd/internal/kit", "sign", "verify", "attest", "lock", "internal/certchain", "internal/pemfile"},
	"cmd/internal/secret":   {},
	"cmd/internal/web":      {},
	"cmd/internal/mcp":      {"cmd/internal/secret"},
	"cmd/internal/launch":   {"verify", "lock", "internal/canonical"},
	"cmd/internal/hosts":    {"cmd/internal/secret", "lock", "internal/canonical"},
	"cmd/internal/kit":      {"lock"},
	"cmd/internal/lint":     {"lock", "internal/canonical"},
	"cmd/internal/baseline": {"lock", "internal/canonical"},
	"sign":                  {"attest"},
	"verify":                {"attest", "lock", "internal/canonical", "internal/certchain", "internal/pemfile"},
	"attest":                {"lock", "internal/canonical"},
	"lock":                  {"internal/canonical"},
	"internal/canonical":    {},
	"internal/certchain":    {},
	"internal/pemfile":      {},
	"internal/sigtest":      {},
	"internal/mcptest":      {},
}

// foreign lists the imports of others that stay in the packages named: no
// Sigstore, protobuf or cobra type crosses a package border, and lock, which a
// host that only pins links, knows nothing of signing.
var foreign = map[string][]string{
	"github.com/spf13/":               {"cmd/internal/cli"},
	"github.com/sigstore/sigstore-go": {"sign", "verify", "internal/sigtest"},
	"github.com/sigstore/":            {"sign", "verify", "internal/sigtest", "cmd/internal/cli"},
	"google.golang.org/protobuf":      {"sign", "verify", "internal/sigtest"},
	"github.com/in-toto/":             {"attest", "verify", "sign", "internal/sigtest"},
	"os":                              {"cmd/mcpsign", "cmd/internal/cli", "cmd/internal/mcp", "cmd/internal/launch", "internal/mcptest"},
	"net/http":                        {"sign", "internal/sigtest", "internal/mcptest", "cmd/internal/cli", "cmd/internal/mcp", "cmd/internal/web"},
	"encoding/json":                   {"cmd/internal/cli", "cmd/internal/mcp", "sign", "internal/sigtest", "internal/mcptest"},
}

// aliases names the packages of sigstore-go that are imported under one name
// everywhere.
var aliases = map[string]string{
	"github.com/sigstore/sigstore-go/pkg/sign":   "sgsign",
	"github.com/sigstore/sigstore-go/pkg/verify": "sgverify",
	"github.com/sigstore/sigstore-go/pkg/bundle": "sgbundle",
	"github.com/sigstore/sigstore-go/pkg/root":   "sgroot",
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	forEachFile(t, func(path string) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || dir == "." || strings.HasPrefix(dir, "testdata") {
			return
		}
		seen[dir] = true
		ours, listed := allowed[dir]
		if !listed {
			t.Errorf("%s: package %s is not in the layout", path, dir)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if local, ok := strings.CutPrefix(name, module+"/"); ok && !slices.Contains(ours, local) {
				t.Errorf("%s imports %s", path, local)
			}
			for prefix, dirs := range foreign {
				if (name == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(name, prefix) || strings.HasPrefix(name, prefix+"/")) && !slices.Contains(dirs, dir) {
					t.Errorf("%s imports %s, which is for %s", path, name, strings.Join(dirs, ", "))
				}
			}
			if alias := aliases[name]; alias != "" && (spec.Name == nil || spec.Name.Name != alias) {
				t.Errorf("%s imports %s under another name than %s", path, name, alias)
			}
		}
	})
	for dir := range allowed {
		if !seen[dir] {
			t.Errorf("package %s of the layout is not there", dir)
		}
	}
}

// TestFileSize holds files to the size in which one reads them.
func TestFileSize(t *testing.T) {
	files := 0
	forEachFile(t, func(path string) {
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(data), "\n"); lines > 700 {
			t.Errorf("%s has %d lines, at most 700 are readable", path, lines)
		}
	})
	if files == 0 {
		t.Error("no Go files were found")
	}
}

// forEachFile calls f for each Go file of the module.
func forEachFile(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") {
			f(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
