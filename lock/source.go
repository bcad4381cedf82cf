package lock

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A Source says how a server was launched when it was approved. It holds no
// values of the environment and starts nothing by itself. The zero Source
// stands for a listing that came from files.
type Source struct {
	Client  string   // HOST/SERVER if an entry of a host's configuration says the rest
	Command []string // program and arguments, as the user or the entry wrote them
	URL     string   // http or https, without user, query and fragment; either Command or URL
	Env     []string // names of environment variables the entry sets or the headers name, sorted
	Headers []Header // sent to URL, sorted by name
}

// A Header is a field of HTTP requests. Its value names environment variables
// as ${NAME} or a file as @FILE where it is a secret.
type Header struct{ Name, Value string }

// maxSource bounds the arguments, variables and headers of a Source, each.
const maxSource = 1000

// IsZero reports whether s names no launch.
func (s Source) IsZero() bool { return len(s.Command) == 0 && s.URL == "" }

// empty reports whether there is nothing in s.
func (s *Source) empty() bool {
	return s.IsZero() && s.Client == "" && len(s.Env)+len(s.Headers) == 0
}

// Same reports whether s and t launch the same: the same command, or servers
// of the same origin. A Source that names no launch is like no other.
func (s Source) Same(t Source) bool {
	if s.IsZero() || t.IsZero() {
		return false
	}
	return slices.Equal(s.Command, t.Command) && s.Origin() == t.Origin()
}

// Origin returns scheme, host and port of the URL; empty if there is none.
func (s Source) Origin() string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// check reports what makes s no source that a lockfile can hold.
func (s *Source) check() error {
	switch {
	case (len(s.Command) > 0) == (s.URL != ""):
		return errors.New("a source has either a command or a URL")
	case max(len(s.Command), len(s.Env), len(s.Headers)) > maxSource:
		return fmt.Errorf("a source has more than %d arguments, variables or headers", maxSource)
	case len(s.Command) > 0 && (s.Command[0] == "" || len(s.Headers) > 0):
		return errors.New("a command has a program and no headers")
	case s.URL != "" && checkURL(s.URL) != nil:
		return checkURL(s.URL)
	case s.Client != "" && strings.Count(s.Client, "/") == 0:
		return fmt.Errorf("client %s is not HOST/SERVER", Visible(s.Client))
	}
	for _, text := range slices.Concat(s.Command, []string{s.Client}) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("the source has the text %q", text)
		}
	}
	for i, name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || !utf8.ValidString(name) || i > 0 && s.Env[i-1] >= name {
			return fmt.Errorf("the source's variable %q is no name, not in order, or there twice", name)
		}
	}
	for i, h := range s.Headers {
		if !isToken(h.Name) || h.Value == "" || !utf8.ValidString(h.Value) || strings.ContainsAny(h.Value, "\r\n\x00") || i > 0 && s.Headers[i-1].Name >= h.Name {
			return fmt.Errorf("the source's header %q is no field of HTTP, not in order, or there twice", h.Name)
		}
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.String() != text || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.User != nil || strings.ContainsAny(text, "?#") {
		return fmt.Errorf("%s is no URL with http or https, host and path alone", Visible(text))
	}
	return nil
}

// isToken reports whether name is a token of HTTP (RFC 9110 section 5.6.2).
func isToken(name string) bool {
	return name != "" && strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func (s *Source) format(w *writer) {
	w.open('{')
	w.optional("client", s.Client)
	w.strings("command", s.Command)
	w.optional("url", s.URL)
	w.strings("env", s.Env)
	if len(s.Headers) > 0 {
		w.name("headers")
		w.open('{')
		for _, h := range s.Headers {
			w.string(h.Name, h.Value)
		}
		w.close('}')
	}
	w.close('}')
}

func readSource(r *canonical.Reader) (Source, error) {
	var s Source
	err := r.Object(func(name string) (err error) {
		switch name {
		case "client":
			s.Client, err = r.String()
		case "command":
			s.Command, err = readStrings(r)
		case "url":
			s.URL, err = r.String()
		case "env":
			s.Env, err = readStrings(r)
		case "headers":
			err = r.Object(func(name string) error {
				value, err := r.String()
				s.Headers = append(s.Headers, Header{name, value})
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err == nil {
		if cause := s.check(); cause != nil {
			err = r.Fail(canonical.Syntax, cause.Error())
		}
	}
	return s, err
}

func readStrings(r *canonical.Reader) ([]string, error) {
	var list []string
	err := r.Array(func(i int) error {
		if i == maxSource {
			return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d elements", maxSource))
		}
		s, err := r.String()
		list = append(list, s)
		return err
	})
	return list, err
}
