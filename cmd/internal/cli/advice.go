package cli

import (
	"slices"
	"strings"
)

// next returns a command that a message names: a verb, about a server if there
// is one, with the lockfile of this call, and more words. All of them are for a
// shell already; a source comes last, as it may start with two dashes.
func (a *app) next(verb, server string, more ...string) string {
	return nextFor(a.lock, verb, server, more...)
}

// nextFor is next for another lockfile than that of the call.
func nextFor(path, verb, server string, more ...string) string {
	lockfile := ""
	if path != defaultLock {
		lockfile = "--lock " + quoteWords([]string{path})
	}
	words := append([]string{"mcpsign", verb, server, lockfile}, more...)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// headerWords repeats the headers that were given for the URL of a source; a
// value is in none of them, see parseHeaders.
func (a *app) headerWords(s source) string {
	if s.url == "" {
		return ""
	}
	var words []string
	for _, h := range a.live.headers {
		words = append(words, "--header", h)
	}
	return quoteWords(words)
}
