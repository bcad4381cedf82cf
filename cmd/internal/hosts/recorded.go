package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// Recorded returns the entry that a lockfile records as the launch of
// client:HOST/SERVER, for a machine on which [System.Find] does not find it.
// Placeholders are those of the host. A lockfile has neither headers nor the
// values of the variables that the entry set: the server gets those of this
// process's environment under the same names. File is the lockfile; like the
// project, it is not trusted.
func (s System) Recorded(from lock.Source, file string) (*Entry, error) {
	name, server, _ := strings.Cut(from.Client, "/")
	at := slices.IndexFunc(hosts(), func(h host) bool { return h.name == name })
	if at < 0 {
		return nil, fmt.Errorf("host %.100q is not known: want one of %s", name, strings.Join(Names(), ", "))
	}
	h := hosts()[at]
	w := &written{cwd: from.Dir, urls: map[string]string{}}
	if len(from.Command) > 0 {
		w.command, w.args, w.forward = from.Command[0], from.Command[1:], from.Env
	}
	if from.URL != "" && len(h.urls) > 0 {
		w.urls[h.urls[0]], w.transport = from.URL, HTTP
	}
	e := &Entry{Host: name, Server: server, File: file, Project: true}
	if err := s.build(h, e, w); err != nil {
		return nil, fmt.Errorf("the recorded launch of %s: %w", e, err)
	}
	return e, nil
}
