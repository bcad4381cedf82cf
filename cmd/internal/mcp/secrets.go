package mcp

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A secret is a credential that is sent to a server.
type secret struct {
	what  string // where it was given
	value []byte
}

// minSecret is the length from which on a value is taken for a credential: a shorter one may well stand in a listing.
const minSecret = 8

// secretsOf returns the credentials of a request, as far as their names tell them. Values that select something, such
// as a set of tools, are none.
func secretsOf(u *url.URL, header http.Header) []secret {
	var all []secret
	add := func(what, value string) {
		if len(value) >= minSecret {
			all = append(all, secret{what, []byte(value)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !secretName(name) {
			continue
		}
		for _, value := range header[name] {
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
			if secretName(name) {
				add("a parameter of the URL", value)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		add("the password of the URL", password)
	}
	return all
}

// secretName reports whether a header or parameter of this name holds a credential.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "credential", "key", "pass", "secret", "session", "sig", "token"},
		func(part string) bool { return strings.Contains(name, part) })
}

// repeated returns an error if data holds a credential.
func repeated(secrets []secret, data []byte) error {
	for _, s := range secrets {
		if bytes.Contains(data, s.value) {
			return fmt.Errorf("server repeats the credential of %s, which would end up in a lockfile or a log", s.what)
		}
	}
	return nil
}
