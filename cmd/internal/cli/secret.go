package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpsign/mcpsign/lock"
)

// lazily returns a regular expression that is compiled when it is first used:
// most runs use none.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// variable is a reference to an environment variable.
var variable = lazily(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// secretWords are parts of the names of what should not be seen.
var secretWords = lazily(`(?i)(^|[^a-z])(tok(en)?|api[-_]?key|apikey|access[-_]?key|private[-_]?key|secret|passw(or)?d|passphrase|pwd|auth(orization)?|bearer|cookie|credentials?|pat)([^a-z]|$)`)

// secretForms are the beginnings that issuers give to their tokens, and
// credentials in a URL.
var secretForms = lazily(`^(gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|sk-|sk_live_|rk_live_|AKIA|ASIA|AIza|ya29\.|npm_|pypi-|hf_|lin_api_|ntn_|secret_|eyJ[A-Za-z0-9_-]+\.)[A-Za-z0-9_.-]{8,}|^[A-Za-z][A-Za-z0-9+.-]*://[^/@\s]*:[^/@\s]+@`)

// secretName reports whether a flag, variable or header of that name holds a
// secret.
func secretName(name string) bool { return secretWords().MatchString(name) }

// hexadecimal is a text of 128 bits and more in hexadecimal digits.
var hexadecimal = lazily(`^[0-9a-fA-F]{32,}$`)

// secretText reports whether a text has the form of a secret: of a known
// issuer's token, of a URL with a password, of a long number in hexadecimal
// digits, or of 24 and more characters that look random. Names of files and
// digests are none.
func secretText(text string) bool {
	if secretForms().MatchString(text) {
		return true
	}
	if isPath(text) || strings.Contains(text, "sha256:") {
		return false
	}
	// Names have words between separators, random texts seldom do.
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-_.:,@ ${}", r) }) {
		letters := strings.ContainsAny(piece, "abcdefABCDEF")
		digits := 0
		for _, r := range piece {
			if r >= '0' && r <= '9' {
				digits++
			}
		}
		if letters && (hexadecimal().MatchString(piece) && digits > 0 || len(piece) >= 24 && digits >= 3 && entropy(piece) > 4) {
			return true
		}
	}
	return false
}

// entropy returns the bits a character of text, by how often each occurs.
func entropy(text string) float64 {
	counts := map[rune]float64{}
	n := 0.0
	for _, r := range text {
		counts[r]++
		n++
	}
	bits := 0.0
	for _, c := range counts {
		bits -= c / n * math.Log2(c/n)
	}
	return bits
}

// checkSecrets refuses to record a launch with an argument that looks like a
// secret. The error does not repeat it.
func checkSecrets(s lock.Source) error {
	if i := secretArgument(s.Command); i >= 0 {
		place := "-- COMMAND reads it from the environment that mcpsign runs in, without being told"
		if s.Client != "" {
			place = "move it to env of the entry, and name it there"
		}
		return usage("the lockfile is for others to read: "+place, fmt.Sprintf("argument %d of the command looks like a secret: nothing is recorded", i))
	}
	for _, part := range strings.Split(s.URL, "/")[min(3, strings.Count(s.URL, "/")):] {
		if secretText(part) {
			return usage("ask for the server's URL with a header instead: --header 'Authorization: Bearer ${TOKEN}'", "the path of the URL looks like a secret: nothing is recorded")
		}
	}
	return nil
}

// secretArgument returns the index of the first argument that looks like a
// secret, -1 if none does.
func secretArgument(argv []string) int {
	for i := range argv {
		if isSecret(argv, i) {
			return i
		}
	}
	return -1
}

// isSecret reports whether an argument looks like a secret: by itself, after = or
// after a flag of such a name. The program does not.
func isSecret(argv []string, i int) bool {
	arg := argv[i]
	if i == 0 || variable().MatchString(arg) {
		return false
	}
	name, value, assigned := strings.Cut(arg, "=")
	if !strings.HasPrefix(value, "$") && (secretText(arg) || assigned && value != "" && (secretName(name) || secretText(value))) {
		return true
	}
	flag := argv[i-1]
	return i > 1 && strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && secretName(flag) &&
		!strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "$") && !isPath(arg)
}

// isPath reports whether an argument names a file that holds something.
func isPath(arg string) bool { return strings.ContainsAny(arg, `/\`) }
