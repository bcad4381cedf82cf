package hosts

import (
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// maxResolved bounds all texts of an entry with their placeholders resolved, in bytes.
const maxResolved = 4 << 20

// A Launch is how a server is started or reached, with every placeholder resolved. It holds secrets, and prints as
// names only; Argv and URL may hold some as well.
type Launch struct {
	Argv   []string            // nil for a URL
	Env    []string            `json:"-"` // "NAME=value", sorted, to be added to the environment the server inherits
	Unset  []string            // names of variables that the server does not inherit, sorted
	Dir    string              // empty stands for this process's own working directory
	URL    string              // http or https, absolute; empty for a command
	Header map[string][]string `json:"-"` // canonical names, as http.Header has them
	Notes  []string            // what a person should know: variables that are not set
}

// String returns what is set, without any value.
func (l Launch) String() string {
	if l.Argv == nil {
		return fmt.Sprintf("a URL with headers %q", slices.Sorted(maps.Keys(l.Header)))
	}
	var names []string
	for _, v := range l.Env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return fmt.Sprintf("a command with environment %q", names)
}

// GoString returns the same, so that no verb prints more.
func (l Launch) GoString() string { return l.String() }

// An UnsetError says that an entry needs an environment variable that is not set.
type UnsetError struct {
	Entry    string // as Entry.String has it
	Variable string
	Where    string // the part of the entry that names it
	Input    string // ID of what the host asks a person for, if that is the reason
}

func (e *UnsetError) Error() string {
	if e.Input != "" {
		return fmt.Sprintf("%s: %s takes the input %.100q, which the host asks a person for: set %.100s to give it here", e.Entry, e.Where, e.Input, e.Variable)
	}
	return fmt.Sprintf("%s: %s needs the environment variable %.100q, which is not set", e.Entry, e.Where, e.Variable)
}

// InputVariable returns the environment variable that gives the value of ${input:id}: MCPSIGN_INPUT_ and the ID in
// capitals, with an underscore for every byte that is neither a letter nor a digit.
func InputVariable(id string) string {
	name := []byte(strings.ToUpper(id))
	for i, c := range name {
		if !('A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			name[i] = '_'
		}
	}
	return "MCPSIGN_INPUT_" + string(name)
}

// Resolve replaces placeholders by what they stand for; lookup is os.LookupEnv, say. What it puts in is not resolved
// again. A variable that is not set and has no default is an *UnsetError where the host would ask for it or pass
// on nothing, and a note where it passes on the placeholder itself; one that is only handed on to the server may be missing. No error holds a value.
func (e *Entry) Resolve(lookup func(name string) (string, bool)) (*Launch, error) {
	if e.values == nil {
		return nil, errors.New("the entry was not read from a configuration")
	}
	x := &expander{values: e.values(), host: e.Host, entry: e.String(), lookup: lookup, left: maxResolved}
	l := x.launch(e)
	if x.err == nil {
		x.err = l.check()
		if x.err != nil {
			x.err = fmt.Errorf("%s: %w", x.entry, x.err)
		}
	}
	if x.err != nil {
		return nil, x.err
	}
	l.Notes = x.notes
	return l, nil
}

// launch resolves all of e.
func (x *expander) launch(e *Entry) *Launch {
	if e.Transport != Stdio {
		return &Launch{URL: x.expand("url", e.URL), Header: x.header()}
	}
	l := &Launch{Dir: x.expand("cwd", e.Dir), Unset: slices.Sorted(slices.Values(x.values.removed))}
	for i, word := range e.Command {
		where := "command"
		if i > 0 {
			where = fmt.Sprintf("argument %d", i)
		}
		l.Argv = append(l.Argv, x.expand(where, word))
	}
	for _, name := range x.values.forward {
		if _, set := x.values.env[name]; set {
			continue
		}
		if v, ok := x.lookup(name); ok {
			l.Env = append(l.Env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.values.env)) {
		l.Env = append(l.Env, name+"="+x.expand(fmt.Sprintf("env %.100q", name), x.values.env[name]))
	}
	slices.Sort(l.Env)
	return l
}

// header resolves the headers.
func (x *expander) header() map[string][]string {
	header := map[string][]string{}
	set := func(name, value string) { header[textproto.CanonicalMIMEHeaderKey(name)] = []string{value} }
	for _, name := range slices.Sorted(maps.Keys(x.values.headers)) {
		set(name, x.expand(fmt.Sprintf("header %.100q", name), x.values.headers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(x.values.variables)) {
		set(name, x.variable(fmt.Sprintf("header %.100q", name), x.values.variables[name]))
	}
	if x.values.bearer != "" {
		set("Authorization", "Bearer "+x.variable(`header "Authorization"`, x.values.bearer))
	}
	return header
}

// check refuses what can't be started or reached.
func (l *Launch) check() error {
	for _, s := range slices.Concat(l.Argv, l.Env, []string{l.Dir}) {
		if strings.ContainsRune(s, 0) {
			return errors.New("a zero byte is in its command, folder or environment")
		}
	}
	for name, values := range l.Header {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
			return fmt.Errorf("the value of header %.100q holds a control character", name)
		}
	}
	if l.Argv != nil {
		if l.Argv[0] == "" {
			return errors.New("its command resolves to nothing")
		}
		return nil
	}
	u, err := url.Parse(l.URL)
	if err == nil && (u.Scheme == "unix" || u.Scheme == "pipe") {
		return fmt.Errorf("its URL is a local %s socket, which mcpsign does not reach: want http or https", u.Scheme)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("its URL is not an absolute one of http or https")
	}
	return nil
}
