package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/cmd/internal/launch"
	"github.com/mcpsign/mcpsign/cmd/internal/secret"
	"github.com/mcpsign/mcpsign/lock"
)

const sourceHelp = `SOURCE is files with a listing (several are its parts), - for standard input, -- COMMAND
ARGS to start a server, its URL, or client:HOST/SERVER, an entry of a host's configuration.`

// sourceFlags say how a live server is asked.
type sourceFlags struct {
	headers []string
	timeout limit
	run     bool // what others wrote down may be launched
}

func (f *sourceFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.headers, "header", nil, "`'NAME: VALUE'` for a URL; ${VARIABLE} and, as the whole value, @FILE keep secrets out of it (repeatable)")
	f.timeout = limit(time.Minute)
	flags.Var(&f.timeout, "timeout", "how long a server may take to list everything")
	flags.BoolVar(&f.run, "run", false, "launch what the lockfile or a project's configuration says, without asking")
	group(flags, "Flags of a live source", "header", "timeout", "run")
}

// A limit is the value of a flag that says how long something may take: more
// than nothing, at most a day.
type limit time.Duration

const maxLimit = limit(24 * time.Hour)

// String returns what Set takes.
func (l *limit) String() string { return time.Duration(*l).String() }

// Set reads a text as time.ParseDuration does.
func (l *limit) Set(text string) error {
	if d, err := time.ParseDuration(text); err == nil && d > 0 && limit(d) <= maxLimit {
		*l = limit(d)
		return nil
	}
	return errors.New("want seconds (90s), minutes (5m) or hours (2h), at most 24h")
}

// Type names the value in help.
func (l *limit) Type() string { return "duration" }

// A source says where a listing comes from. One of its parts is set.
type source struct {
	files    []string
	command  []string
	url      string
	client   string        // HOST/SERVER
	headers  []lock.Header // that the lockfile records
	entry    *hosts.Entry  // of the client, as it was shown; nil: it is looked up
	recorded *lock.Source  // what entry was made of, where no client's configuration has it
	allowed  bool          // someone has said that the client's entry may be launched
	dir      string        // in which a command is started; empty: the working directory
}

// sourceOf splits the arguments of a command in the first n, none or NAME, and
// the source.
func sourceOf(cmd *cobra.Command, list []string, n int) ([]string, source, error) {
	dash := cmd.ArgsLenAtDash()
	words, command := list, []string(nil)
	if dash >= 0 {
		words, command = list[:dash], list[dash:]
	}
	if len(words) < n {
		return nil, source{}, usage("usage: "+cmd.UseLine(), "NAME is needed before the source")
	}
	names, words := words[:n], words[n:]
	switch {
	case dash >= 0 && len(command) == 0:
		return nil, source{}, usage("usage: "+cmd.UseLine(), "a command is needed after --")
	case len(words) > 0 && len(command) > 0:
		return nil, source{}, usage("usage: "+cmd.UseLine(), "a source is files, a URL or a command, not several of them")
	case len(command) > 0:
		return names, source{command: command}, nil
	}
	s, err := newSource(words)
	return names, s, err
}

// newSource returns the source that words name; without words the empty one.
func newSource(words []string) (source, error) {
	for _, w := range words {
		if live(w) && len(words) > 1 {
			return source{}, usage("give the others by themselves", lock.Visible(w)+" is a source of its own")
		}
	}
	if len(words) == 1 && isURL(words[0]) {
		return source{url: words[0]}, nil
	}
	if len(words) == 1 {
		if client, ok := strings.CutPrefix(words[0], clientPrefix); ok {
			return source{client: client}, nil
		}
	}
	return source{files: words}, nil
}

const clientPrefix = "client:"

// live reports whether a word names a server and not a file.
func live(word string) bool { return isURL(word) || strings.HasPrefix(word, clientPrefix) }

func isURL(word string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(word), "://")
	return ok && (scheme == "http" || scheme == "https")
}

// neededSource is sourceOf for a command that can do nothing without a source.
func neededSource(cmd *cobra.Command, list []string, n int) ([]string, source, error) {
	names, s, err := sourceOf(cmd, list, n)
	if err == nil && s.empty() {
		err = usage("usage: "+cmd.UseLine(), "a source is needed")
	}
	return names, s, err
}

func (s source) empty() bool {
	return len(s.files) == 0 && len(s.command) == 0 && s.url == "" && s.client == ""
}

// String returns the source as a user would write it, without what may be
// secret in a URL; in a command a variable stands for what looks like a secret.
func (s source) String() string {
	switch {
	case secret.First(s.command) >= 0:
		code, _ := shellCode(s.command)
		return "-- " + quoteWords([]string{"sh", "-c", code})
	case len(s.command) > 0:
		return "-- " + quoteWords(s.command)
	case s.url != "":
		return quoteWords([]string{withoutSecrets(s.url)})
	case s.client != "":
		return quoteWords([]string{clientPrefix + s.client})
	}
	return quoteWords(s.files)
}

// quoteWords joins words so that a shell reads them again. A word with characters
// that do not show is in the $'...' of bash, ksh and zsh.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if lock.Visible(w) != w {
			quoted[i] = "$'" + escaped(w) + "'"
			continue
		}
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// escaped spells a word for $'...': as escapes what does not show, and what ends
// it.
func escaped(word string) string {
	var b strings.Builder
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		switch part := word[:size]; {
		case r == utf8.RuneError && size == 1, r < ' ', r == '\'', r == '\\':
			fmt.Fprintf(&b, `\x%02x`, part[0])
		case lock.Visible(part) == part:
			b.WriteString(part)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		word = word[size:]
	}
	return b.String()
}

// A fetched is a listing with what is known of where it came from.
type fetched struct {
	*lock.Listing
	responses [][]byte    // as received; what was read of them if they are not a listing
	launch    lock.Source // zero if it came from files
	ran       launch.Run
	doubt     string // why something else may have been launched, see verify.Request
	notes     []string
}

// fetch reads the source.
func (a *app) fetch(ctx context.Context, s source) (*fetched, error) {
	if len(s.files) == 0 {
		f, err := a.fetchLive(ctx, s)
		if err != nil && f != nil {
			err = fail(codeOf(err), err, "see what the server sends, and ask its publisher to mend it: mcpsign list -o raw "+s.String())
		}
		return f, err
	}
	f := &fetched{}
	for _, name := range s.files {
		data, err := a.readInput(name)
		if err != nil {
			return nil, fail(ExitInternal, err, "")
		}
		f.responses = append(f.responses, data)
	}
	return f, f.parse(s.files, "a listing is what a server answers to tools/list, prompts/list, resources/templates/list and initialize")
}

// parse makes a listing of the responses, which come from the places named. An
// error leaves f without one, and names the place that it is about.
func (f *fetched) parse(places []string, hint string) error {
	l, err := lock.ParseListing(f.responses...)
	if err != nil {
		return fail(ExitServer, inPlace(err, f.responses, places), hint)
	}
	if len(l.Partial) > 0 {
		err := fmt.Errorf("the list of %ss is incomplete: its last page has a nextCursor", l.Partial[0])
		if len(places) == 1 {
			err = fmt.Errorf("%s: %w", lock.Visible(places[0]), err)
		}
		return fail(ExitServer, err, "name the files with the other pages as well, or list the server again: mcpsign list -o raw SOURCE > listing.jsonl")
	}
	f.Listing = l
	return nil
}

// inPlace names the place of the response that an error is about.
func inPlace(err error, responses [][]byte, places []string) error {
	at := 0
	if len(places) > 1 {
		at = slices.IndexFunc(responses, func(data []byte) bool {
			_, err := lock.ParseListing(data)
			return errors.As(err, new(*lock.DigestError)) || errors.As(err, new(*lock.ResponseError))
		})
	}
	if at < 0 || at >= len(places) {
		return err
	}
	return fmt.Errorf("%s: %w", lock.Visible(places[at]), err)
}

// listing is fetch for a command with one source: the notes are printed.
func (a *app) listing(ctx context.Context, s source) (*fetched, error) {
	f, err := a.fetch(ctx, s)
	if err == nil {
		a.note(f.notes...)
	}
	return f, err
}

// note prints notes to standard error.
func (a *app) note(notes ...string) {
	for _, n := range notes {
		fmt.Fprintln(a.Stderr, "note:", oneLine(n))
	}
}

// readInput reads a file, or standard input for "-", up to the limit of a
// listing and one byte more.
func (a *app) readInput(name string) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		f, err := openNamed(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := readUpTo(in, lock.MaxListing)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock.Visible(name), err)
	}
	return data, nil
}

// refusedError says that definitions have no digest, nil if none are refused.
func refusedError(l *lock.Listing) error {
	if len(l.Refused) == 0 {
		if len(l.Definitions) == 0 {
			return fail(ExitNoDigest, errors.New("the listing is empty: there is nothing to digest, sign or pin"), "")
		}
		return nil
	}
	r := l.Refused[0]
	err := fmt.Errorf("%d of %d definitions have no digest; the first is %s: %w", len(l.Refused), len(l.Refused)+len(l.Definitions), showRefused(r.Kind, r.Name, r.Index), r.Err)
	return fail(ExitNoDigest, err, "the server has to list them as I-JSON (RFC 7493), each under a name of its own; see which are refused, and why: mcpsign digest SOURCE")
}

// showRefused is show for a definition that may have no name: its number among
// those of its kind says which it is.
func showRefused(k lock.Kind, name string, index int) string {
	switch {
	case k == lock.Instructions:
		return "the instructions"
	case name == "":
		return fmt.Sprintf("%s number %d, which has no name", k, index+1)
	}
	return show(k, name)
}

// show returns a definition's ID, fit for a terminal.
func show(k lock.Kind, name string) string { return lock.Visible(lock.ID(k, name)) }
