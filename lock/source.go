package lock

import (
	"errors"
	"fmt"
	"maps"
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
	Dir     string   // working directory of Command, as the entry writes it; empty if it sets none
	URL     string   // http or https, without user, query and fragment; either Command or URL
	Env     []string // names of environment variables that the entry sets, or that it or the headers name, sorted
	Headers []Header // sent to URL, sorted by name

	// Artifacts are what Command launches, as it was read on the machine that
	// launched it; none if nothing could be read, or there was no need to.
	Artifacts []Artifact
}

// An Artifact is a package or a file that a command launches. Who reads it
// says what is there after the launch: that it is what was run rests on the
// machine.
type Artifact struct {
	PURL   string            // of a package, with its version
	File   string            // as the command names it; either PURL or File
	Digest map[string]string // sha256, sha384 or sha512, to lower-case hexadecimal digits; at least one
}

// A Header is a field of HTTP requests. Its value names environment variables
// as ${NAME} or a file as @FILE where it is a secret.
type Header struct{ Name, Value string }

// String returns what a is and its digests, "pkg:npm/a@1 sha512:HEX", in a form
// in which every character shows.
func (a Artifact) String() string {
	text := Visible(a.PURL + a.File)
	for _, algorithm := range slices.Sorted(maps.Keys(a.Digest)) {
		text += " " + Visible(algorithm+":"+a.Digest[algorithm])
	}
	return text
}

// The limits of a Source: of arguments, variables and headers, each, and of
// artifacts.
const (
	maxSource    = 1000
	maxArtifacts = 16
)

// IsZero reports whether s names no launch.
func (s Source) IsZero() bool { return len(s.Command) == 0 && s.URL == "" }

// empty reports whether there is nothing in s.
func (s *Source) empty() bool {
	return s.IsZero() && s.Client == "" && s.Dir == "" && len(s.Env)+len(s.Headers)+len(s.Artifacts) == 0
}

// Same reports whether s and t are launched alike: the same command in the same
// working directory with environment variables of the same names, or the same
// URL. All are compared as they are written. Values of variables, headers with
// the variables they name, and the entry's name are not compared, nor is what the
// command launches, which is another thing with each release. A Source that names
// no launch is like no other.
func (s Source) Same(t Source) bool {
	if s.IsZero() || t.IsZero() {
		return false
	}
	return slices.Equal(s.Command, t.Command) && s.Dir == t.Dir && s.URL == t.URL && (s.URL != "" || slices.Equal(s.Env, t.Env))
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
	case s.Dir != "" && (s.Client == "" || s.URL != ""):
		return errors.New("only the command of a client's entry has a working directory")
	case len(s.Artifacts) > maxArtifacts || s.URL != "" && len(s.Artifacts) > 0:
		return fmt.Errorf("a source has more than %d artifacts, or has some at a URL", maxArtifacts)
	case s.URL != "" && checkURL(s.URL) != nil:
		return checkURL(s.URL)
	case s.Client != "" && strings.Count(s.Client, "/") == 0:
		return fmt.Errorf("client %s is not HOST/SERVER", Visible(s.Client))
	}
	for _, text := range slices.Concat(s.Command, []string{s.Client, s.Dir}) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("the source has the text %q", text)
		}
	}
	for i := range s.Artifacts {
		if err := s.Artifacts[i].Check(); err != nil {
			return err
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

// Check reports what makes a no artifact that a lockfile can hold.
func (a Artifact) Check() error {
	text := a.PURL + a.File
	switch {
	case (a.PURL == "") == (a.File == ""):
		return errors.New("an artifact has either a purl or a file")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0) || a.File == "" && !strings.HasPrefix(a.PURL, "pkg:"):
		return fmt.Errorf("the artifact has the name %q", text)
	case len(a.Digest) == 0:
		return fmt.Errorf("the artifact %s has no digest", Visible(text))
	}
	for algorithm, hex := range a.Digest {
		size := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
		if size == 0 || len(hex) != size || strings.Trim(hex, "0123456789abcdef") != "" {
			return fmt.Errorf("the artifact's digest %q is not known, or not of its length in lower-case hexadecimal digits", algorithm)
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
	w.optional("cwd", s.Dir)
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
	if len(s.Artifacts) > 0 {
		w.name("artifacts")
		w.open('[')
		for i := range s.Artifacts {
			w.element()
			s.Artifacts[i].format(w)
		}
		w.close(']')
	}
	w.close('}')
}

func (a *Artifact) format(w *writer) {
	w.open('{')
	w.optional("purl", a.PURL)
	w.optional("file", a.File)
	w.name("digest")
	w.open('{')
	for _, algorithm := range slices.Sorted(maps.Keys(a.Digest)) {
		w.string(algorithm, a.Digest[algorithm])
	}
	w.close('}')
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
		case "cwd":
			s.Dir, err = r.String()
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
		case "artifacts":
			err = r.Array(func(i int) error {
				if i == maxArtifacts {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d artifacts", maxArtifacts))
				}
				a, err := readArtifact(r)
				s.Artifacts = append(s.Artifacts, a)
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

func readArtifact(r *canonical.Reader) (Artifact, error) {
	var a Artifact
	err := r.Object(func(name string) (err error) {
		switch name {
		case "purl":
			a.PURL, err = r.String()
		case "file":
			a.File, err = r.String()
		case "digest":
			a.Digest = make(map[string]string)
			err = r.Object(func(algorithm string) (err error) {
				a.Digest[algorithm], err = r.String()
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	return a, err
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
