package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
	"github.com/mcpsign/mcpsign/lock"
)

// lazily returns a regular expression that is compiled when it is first used:
// most runs use none.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// variable is a reference to an environment variable.
var variable = lazily(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// checkSecrets refuses to record a launch with what looks like a secret. The
// error does not repeat it.
func (a *app) checkSecrets(s lock.Source) error {
	if i := secret.First(s.Command); i >= 0 {
		return usage(a.secretHint(s), fmt.Sprintf("argument %d of the command looks like a secret, which the lockfile would show to others: nothing is recorded", i))
	}
	if len(secret.URL(s.URL)) > 0 {
		return usage("if the server takes the secret in a header as well: --header 'Authorization: Bearer ${TOKEN}'",
			"the path of the URL looks like a secret, which the lockfile would show to others: nothing is recorded")
	}
	for _, h := range s.Headers {
		if looksSecret(h) {
			return headerError(h)
		}
	}
	return nil
}

// looksSecret reports whether the value of a header is written out and looks like
// a secret.
func looksSecret(h lock.Header) bool {
	return secret.Header(h.Name, h.Value) || secret.Name(h.Name) && !variable().MatchString(h.Value) && !strings.HasPrefix(h.Value, "@")
}

// headerError refuses a header with a secret, and shows how it is given.
func headerError(h lock.Header) error {
	name := lock.Visible(h.Name)
	value := "${" + variableName(h.Name) + "}"
	switch scheme, _ := secret.Scheme(h.Value); {
	case slices.Contains([]string{"basic ", "bearer ", "token "}, strings.ToLower(scheme)):
		value = scheme + "${TOKEN}"
	case h.Name == "Authorization":
		value = "Bearer ${TOKEN}"
	}
	return usage(fmt.Sprintf("export the value as an environment variable and name that, or a file: --header '%s: %s', --header '%s: @FILE'", name, value, name),
		"the value of the header "+name+" looks like a secret, which others see in the list of processes and in the lockfile")
}

// secretHint says how a command gets its secrets otherwise: the command line as it
// was given, in which a shell puts them in from the environment.
func (a *app) secretHint(s lock.Source) string {
	if s.Client != "" {
		return "let the server read it from env of the entry, or write a placeholder of the host for it"
	}
	dash := slices.Index(a.Args, "--")
	if dash < 0 || runtime.GOOS == "windows" {
		return "let the server read it from its environment, which is that of mcpsign"
	}
	code, names := shellCode(s.Command)
	line := quoteWords(slices.Concat([]string{"mcpsign"}, a.Args[:dash+1], []string{"sh", "-c", code}))
	return fmt.Sprintf("let the server read it from its environment, which is that of mcpsign, or export %s and let a shell put it in: %s", strings.Join(names, ", "), line)
}

// shellCode returns a command as code for sh in which a variable stands for each
// secret, and the names of the variables.
func shellCode(command []string) (code string, names []string) {
	words := []string{"exec"}
	for i, word := range command {
		spans := secret.Argument(command, i)
		if len(spans) == 0 {
			words = append(words, quoteWords([]string{word}))
			continue
		}
		quoted, at := "", 0
		for _, s := range spans {
			name := variableName(word[:s.Start])
			if s.Start == 0 && i > 1 && strings.HasPrefix(command[i-1], "-") {
				name = variableName(command[i-1])
			}
			for base, n := name, 2; slices.Contains(names, name); n++ {
				name = fmt.Sprintf("%s_%d", base, n)
			}
			names = append(names, name)
			quoted, at = quoted+inQuotes(word[at:s.Start])+"${"+name+"}", s.End
		}
		words = append(words, `"`+quoted+inQuotes(word[at:])+`"`)
	}
	return strings.Join(words, " "), names
}

// inQuotes returns a text as it is written between double quotes of a shell.
func inQuotes(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text)
}

// lastName is the name at the end of what stands before a secret.
var lastName = lazily(`([A-Za-z][A-Za-z0-9_.-]{0,60})\W*$`)

// variableName returns a name for the variable that holds the secret behind a
// name: X-Api-Key and --apiKey are in API_KEY.
func variableName(before string) string {
	name := ""
	if scheme := strings.TrimRight(before, " "); scheme != before { // Authorization: Bearer
		before = strings.TrimRight(before[:max(0, strings.LastIndexAny(scheme, " :")+1)], " ")
		before = cmp.Or(before, scheme)
	}
	if m := lastName().FindStringSubmatch(before); m != nil {
		words := secret.Words(m[1])
		if len(words) > 1 && words[0] == "x" {
			words = words[1:]
		}
		name = strings.ToUpper(strings.Join(words, "_"))
	}
	if name == "" || secret.Signing(name) || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return "SECRET"
	}
	return name
}
