package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/verify"
)

// codesInSource returns the constants of exit.go with their comments.
func codesInSource(t *testing.T) map[ExitCode]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "exit.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[ExitCode]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Exit") {
			return true
		}
		value, err := strconv.Atoi(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes[ExitCode(value)] = strings.TrimSpace(spec.Comment.Text())
		return true
	})
	if len(codes) < 10 {
		t.Fatalf("exit.go has the codes %v", codes)
	}
	return codes
}

func readText(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCodesInManual holds the manual, main.go's doc comment, to exit.go.
func TestCodesInManual(t *testing.T) {
	_, manual, ok := strings.Cut(readText(t, "../../mcpsign/main.go"), "// # Exit codes\n")
	if !ok {
		t.Fatal("main.go has no exit codes")
	}
	manual, _, _ = strings.Cut(manual, "package main")
	documented := map[ExitCode]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\d+) +(.+)$`).FindAllStringSubmatch(manual, -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		documented[ExitCode(code)] = m[2]
	}
	want := codesInSource(t)
	for code, text := range want {
		if documented[code] != text {
			t.Errorf("exit code %d: main.go says %q, exit.go %q", code, documented[code], text)
		}
	}
	if len(documented) != len(want) {
		t.Errorf("main.go has %d exit codes, exit.go %d", len(documented), len(want))
	}

	// "Where several apply, 14 wins over 16, 15, ..."
	_, order, ok := strings.Cut(manual, "Where several apply,")
	if !ok {
		t.Fatal("main.go does not say which code wins")
	}
	no, _, ok := strings.Cut(order, "and these over")
	if !ok {
		t.Fatal("main.go does not say that a no wins over the rest")
	}
	var wins []ExitCode
	for _, m := range regexp.MustCompile(`\d+`).FindAllString(no, -1) {
		code, err := strconv.Atoi(m)
		if err != nil {
			t.Fatal(err)
		}
		wins = append(wins, ExitCode(code))
	}
	if !slices.Equal(wins, precedence[:len(wins)]) {
		t.Errorf("main.go has the order %v, exit.go %v", wins, precedence)
	}
	for _, rest := range precedence[len(wins):] {
		if rest >= ExitDrift {
			t.Errorf("main.go leaves out code %d", rest)
		}
	}
}

// TestCodesInREADME checks that its table has every code once, with a meaning
// for each.
func TestCodesInREADME(t *testing.T) {
	_, section, ok := strings.Cut(readText(t, "../../../README.md"), "## Exit codes\n")
	if !ok {
		t.Fatal("README.md has no exit codes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []ExitCode
	for _, m := range regexp.MustCompile(`(?m)^\| ([\d, ]+) \| (.+) \|$`).FindAllStringSubmatch(section, -1) {
		codes, meanings := strings.Split(m[1], ", "), strings.Split(m[2], "; ")
		if len(codes) != len(meanings) {
			t.Errorf("README.md has %d meanings for the codes %s: %s", len(meanings), m[1], m[2])
		}
		for _, c := range codes {
			code, err := strconv.Atoi(c)
			if err != nil {
				t.Fatal(err)
			}
			documented = append(documented, ExitCode(code))
		}
	}
	var want []ExitCode
	for code := range codesInSource(t) {
		want = append(want, code)
	}
	slices.Sort(want)
	if !slices.Equal(documented, want) {
		t.Errorf("README.md has the codes %v, exit.go %v", documented, want)
	}
}

func TestPrecedence(t *testing.T) {
	for code := range codesInSource(t) {
		n := 0
		for _, p := range precedence {
			if p == code {
				n++
			}
		}
		if n != 1 {
			t.Errorf("precedence has code %d %d times, want once", code, n)
		}
		if got := worst(ExitYes, code, ExitYes); got != code {
			t.Errorf("worst(0, %d, 0) = %d", code, got)
		}
	}
	for i, p := range precedence {
		for _, loser := range precedence[i:] {
			if got := worst(loser, p); got != p {
				t.Errorf("worst(%d, %d) = %d", loser, p, got)
			}
		}
	}
	for _, codes := range [][]ExitCode{nil, {99}, {-1}} {
		if got := worst(codes...); got == ExitYes {
			t.Errorf("worst(%v) is a yes", codes)
		}
	}
}

// TestReasonCodes checks that every reason of package verify has a code, but
// for those that do not by themselves make a verdict a no.
func TestReasonCodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../verify/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var harmless []verify.Reason
	reasons := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Reason" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons++
		if reasonCode(verify.Reason(text)) == ExitYes {
			harmless = append(harmless, verify.Reason(text))
		}
		return true
	})
	want := []verify.Reason{verify.Verified, verify.Pinned, verify.Blocked, verify.FirstContact, verify.Updated}
	slices.Sort(want)
	slices.Sort(harmless)
	if reasons < 15 || !slices.Equal(harmless, want) {
		t.Errorf("of %d reasons these have no code: %v, want %v", reasons, harmless, want)
	}
}

// No message advises to accept an older release or to ask for less: a command
// that is repeated has --downgrade only if it was given.
func TestNoHintLoosens(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			switch {
			case lit.Value == `"--downgrade"` && name == "approve.go":
				found++
			case strings.Contains(lit.Value, "--downgrade"), strings.Contains(lit.Value, "--stateless"):
				t.Errorf("%s: %s", name, lit.Value)
			}
			return true
		})
	}
	if found != 1 {
		t.Errorf("--downgrade is repeated in %d places, want 1", found)
	}
}
