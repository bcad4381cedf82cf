package mcp

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
)

// A credential is what is sent to a server and must not come back.
type credential struct {
	what  string // where it was given
	value []byte
}

// minSecret is the length from which on a value is taken for a credential: a shorter one may well stand in a listing.
const minSecret = 8

// secretsOf returns the credentials of a request, as far as their names or forms tell them. Values that select
// something, such as a set of tools, are none.
func secretsOf(u *url.URL, header http.Header) []credential {
	var all []credential
	add := func(what, value string) {
		if len(value) >= minSecret {
			all = append(all, credential{what, []byte(value)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if !secret.Name(name) && !secret.Token(value) {
				continue
			}
			add(fmt.Sprintf("the header %q", name), value)
			words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ;,", r) })
			if len(words) > 1 && strings.HasSuffix(name, "Authorization") {
				words = words[1:] // without the scheme
			}
			for _, word := range words {
				if name == "Cookie" {
					_, word, _ = strings.Cut(word, "=")
				}
				add(fmt.Sprintf("the header %q", name), word)
			}
		}
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if secret.Name(name) || secret.Token(value) {
				add("a parameter of the URL", value)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		add("the password of the URL", password)
	}
	place := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	for _, s := range secret.URL(place) {
		add("the path of the URL", place[s.Start:s.End])
	}
	return all
}

// repeated returns an error if data holds a credential.
func repeated(secrets []credential, data []byte) error {
	for _, s := range secrets {
		if bytes.Contains(data, s.value) {
			return fmt.Errorf("server repeats the credential of %s, which would end up in a lockfile or a log", s.what)
		}
	}
	return nil
}
