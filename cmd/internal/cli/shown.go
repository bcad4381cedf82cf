package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/cmd/internal/secret"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// concealed stands for what is not shown since it may be a secret. Three dots
// alone could be an argument.
const concealed = "[looks like a secret]"

// A shownLaunch is a launch as whoever has to allow it sees it: all of it, fit for
// a terminal, but for values of variables and what looks like a secret.
type shownLaunch struct {
	what string   // the command or the URL
	with []string // "in DIR", "with A, B set" ...
}

// String returns it in one line.
func (l shownLaunch) String() string { return strings.Join(append([]string{l.what}, l.with...), ", ") }

// lines returns it as an item of a list, a line each.
func (l shownLaunch) lines() string {
	return "  " + strings.Join(append([]string{l.what}, l.with...), "\n    ") + "\n"
}

// launchText describes a launch that is recorded, or will be, in one line.
func launchText(s lock.Source) string { return showSource(s).String() }

// showSource returns a launch that is recorded, or will be.
func showSource(s lock.Source) shownLaunch {
	l := shownLaunch{what: "files"}
	switch {
	case s.URL != "":
		l.what = endpointText(s.URL)
	case len(s.Command) > 0:
		l.what = commandText(s.Command)
	}
	l.in(s.Dir)
	for _, h := range s.Headers {
		l.header(h.Name, headerText(h))
	}
	if len(s.Env) > 0 && len(s.Headers) == 0 { // headers name their variables themselves
		l.with = append(l.with, "with the environment "+listWords(s.Env))
	}
	return l
}

// showEntry returns what a client's entry launches.
func showEntry(e *hosts.Entry) shownLaunch {
	if e.URL != "" {
		l := shownLaunch{what: endpointText(e.Endpoint)}
		for _, h := range e.Headers {
			l.header(h.Name, h.Template)
		}
		return l
	}
	l := shownLaunch{what: commandText(e.Command)}
	l.in(e.Dir)
	if len(e.Env) > 0 {
		l.with = append(l.with, "with "+listWords(e.Env)+" set")
	}
	if len(e.Variables) > 0 {
		l.with = append(l.with, "with the value of "+listWords(e.Variables))
	}
	return l
}

// in adds the working directory, if one is set.
func (l *shownLaunch) in(dir string) {
	if dir != "" {
		l.with = append(l.with, "in "+quoteWords([]string{dir}))
	}
}

func (l *shownLaunch) header(name, value string) {
	l.with = append(l.with, "with the header "+quoteWords([]string{name + ": " + value}))
}

// headerText returns the value of a header as it is recorded, but for what is
// written out and looks like a secret.
func headerText(h lock.Header) string {
	if looksSecret(h) {
		return concealed
	}
	return h.Value
}

// endpointText returns a URL without the parts that look like a secret.
func endpointText(endpoint string) string {
	return quoteWords([]string{conceal(endpoint, secret.URL(endpoint))})
}

// commandText returns a command without what looks like a secret in its
// arguments. What says which code is run must not pass for one: the package or
// script that the command is known to name is shown, and where none is known, the
// word behind a flag, which may be a package.
func commandText(command []string) string {
	runs := verify.LaunchOf(command)
	known := runs != (verify.Launch{})
	words := make([]string, len(command))
	for i, word := range command {
		if words[i] = word; known && (word == runs.Package || word == runs.Script) {
			continue
		}
		spans := slices.DeleteFunc(secret.Argument(command, i), func(s secret.Span) bool { return !mayHide(word, s, known) })
		words[i] = conceal(word, spans)
	}
	return quoteWords(words)
}

// mayHide reports whether a part of an argument is nothing but a secret: a token,
// a password in most cases, or what stands before the host of a URL. Shells and
// interpreters call nothing without other characters, but a plain word they do.
func mayHide(word string, s secret.Span, known bool) bool {
	text := word[s.Start:s.End]
	if secretRun().FindString(text) != text || strings.Contains(text, "://") {
		return false
	}
	before := word[:s.Start]
	assigned := strings.HasSuffix(before, "=") && s.End == len(word) && secretRun().FindString(before) == before
	login := strings.HasSuffix(before, "://") && strings.HasPrefix(word[s.End:], "@")
	return known || assigned || login || secret.Token(text)
}

// secretRun is a text that can be a token, a password in most cases, or a URL.
var secretRun = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9._~+/=:@%!-]+`) })

// conceal returns a text without the parts.
func conceal(text string, parts []secret.Span) string {
	var b strings.Builder
	at := 0
	for _, s := range parts {
		b.WriteString(text[at:s.Start] + concealed)
		at = s.End
	}
	return b.String() + text[at:]
}

// listWords returns names as a list.
func listWords(names []string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = quoteWords([]string{n})
	}
	return strings.Join(words, ", ")
}

// launchNote says how a server is launched otherwise than the lockfile records:
// each part that differs, as it was and as it is. It is empty if none does.
func launchNote(recorded, now lock.Source) string {
	if recorded.IsZero() || now.IsZero() || recorded.Same(now) {
		return ""
	}
	changed := func(was, is string) string { return fmt.Sprintf("%s (recorded) %s (now)", was, is) }
	list := func(words ...string) string {
		if len(words) == 0 || words[0] == "" { // no variable has that name
			return "none"
		}
		return listWords(words)
	}
	was := launchText(lock.Source{Command: recorded.Command, URL: recorded.URL})
	note := launchText(lock.Source{Command: now.Command, URL: now.URL})
	if was != note {
		note = changed(was, note)
	} else if recorded.URL != now.URL || !slices.Equal(recorded.Command, now.Command) {
		note += ", which is another in what looks like a secret"
	}
	if !slices.Equal(recorded.Env, now.Env) {
		note += "; environment " + changed(list(recorded.Env...), list(now.Env...))
	}
	if recorded.Dir != now.Dir {
		note += "; working directory " + changed(list(recorded.Dir), list(now.Dir))
	}
	return note
}
