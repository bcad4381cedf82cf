package kit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

const approval = `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","approval":true}`

func added(server, text string) kit.Added {
	return kit.Added{Folder: kit.Folder(server), Data: []byte(text)}
}

// TestAdded checks that bundles that were added travel with the lockfile whose
// servers they are about, and with no other.
func TestAdded(t *testing.T) {
	k := whole(t)
	k.Added = []kit.Added{added("weather", approval), added("weather", "another")}
	data := format(t, k)
	k.Added[0], k.Added[1] = k.Added[1], k.Added[0]
	if !bytes.Equal(format(t, k), data) {
		t.Error("another order gives another kit")
	}
	got, err := kit.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Added) != 2 || !bytes.Equal(format(t, got), data) {
		t.Errorf("got %+v", got.Added)
	}
	if name := got.Added[0].Name(); !strings.HasPrefix(name, ".mcpsign/for-"+hex("weather")[:12]+"/sha256-") || len(name) > 100 {
		t.Errorf("named %s", name)
	}

	trust := kit.Added{Folder: kit.Folder("weather"), Data: []byte(approval), Trust: true}
	k.Added = append(k.Added, trust)
	if got, err = kit.Parse(format(t, k)); err != nil || len(got.Added) != 3 || !got.Added[2].Trust || got.Added[0].Trust || got.Added[2].Name() != trust.Name() {
		t.Errorf("with trust: %+v, %v", got, err)
	}
	trust.Data = []byte(strings.Repeat("x", kit.MaxFile+1))

	var many []kit.Added
	for i := range lock.MaxBundles + 1 {
		many = append(many, added("weather", fmt.Sprint(i)))
	}
	for what, x := range map[string][]kit.Added{
		"another server":  {added("radar", approval)},
		"no server":       {{Folder: "for-000000000000", Data: []byte(approval)}},
		"no folder":       {{Data: []byte(approval)}},
		"above":           {{Folder: "../etc", Data: []byte(approval)}},
		"twice":           {added("weather", approval), added("weather", approval)},
		"empty":           {added("weather", "")},
		"too large":       {added("weather", strings.Repeat("x", lock.MaxBundle+1))},
		"too many":        many,
		"trust too large": {trust},
	} {
		k := whole(t)
		k.Added = x
		if _, err := k.Format(); err == nil {
			t.Errorf("%s: is a kit", what)
		}
	}
}

// TestAddedRefused reads archives that something else wrote.
func TestAddedRefused(t *testing.T) {
	good := ".mcpsign/for-" + hex("weather")[:12] + "/sha256-" + hex(approval)
	for _, test := range []struct {
		what string
		m    member
		want string // empty: it is a kit
	}{
		{"as it is", file(good, approval), ""},
		{"changed", file(good, approval+" "), "its SHA-256 is "},
		{"another server", file(".mcpsign/for-"+hex("radar")[:12]+"/sha256-"+hex(approval), approval), "is of no server of the lockfile"},
		{"another name", file(".mcpsign/for-"+hex("weather")[:12]+"/policy.yaml", approval), "no file of a kit has this name"},
		{"a longer folder", file(".mcpsign/for-"+hex("weather")[:13]+"/sha256-"+hex(approval), approval), "no file of a kit has this name"},
	} {
		_, err := kit.Parse(archive(t, append([]member{test.m}, members(t)...)...))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.what, err, test.want)
		}
	}
}
