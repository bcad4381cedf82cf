package main

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScriptsShowAll checks that a script shows each reason and ends with each
// exit code: what users can meet, they can read about in a session.
func TestScriptsShowAll(t *testing.T) {
	names, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d scripts, %v", len(names), err)
	}
	var shown, codes strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		session, _, _ := strings.Cut(string(data), "\n-- ")
		for line := range strings.Lines(session) {
			if regexp.MustCompile(`\b(shows|stdout|grep)\b`).MatchString(line) {
				shown.WriteString(line)
			}
			if strings.Contains(line, "exits ") {
				codes.WriteString(line)
			}
		}
	}
	reasons := constants(t, "../../verify/reason.go", "Reason")
	if len(reasons) < 20 {
		t.Fatalf("%d reasons", len(reasons))
	}
	for _, r := range reasons {
		if !regexp.MustCompile(`\b` + strings.Trim(r, `"`) + `\b`).MatchString(shown.String()) {
			t.Errorf("no script shows the reason %s", r)
		}
	}
	all := constants(t, "../internal/cli/exit.go", "ExitCode")
	if len(all) < 14 {
		t.Fatalf("%d exit codes", len(all))
	}
	for _, code := range all {
		if !strings.Contains(codes.String(), "exits "+code+" ") {
			t.Errorf("no script ends with exit code %s", code)
		}
	}
}

// constants returns the literals of the constants of a type in a file.
func constants(t *testing.T, name, typ string) []string {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typ && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				values = append(values, lit.Value)
			}
		}
		return true
	})
	return values
}
