package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// Origins are the same in every case of scheme and host, with or without the
// default port of their scheme.
func TestBoundOrigin(t *testing.T) {
	for _, tt := range []struct {
		launched, signed string
		want             bool
	}{
		{"https://acme.example", "https://acme.example:443", true},
		{"http://acme.example:80", "http://acme.example", true},
		{"http://acme.example:443", "http://acme.example", false},
		{"https://acme.example:80", "https://acme.example", false},
		{"https://acme.example:443", "http://acme.example:80", false},
		{"https://ACME.example", "https://acme.example/", true},
		{"https://acme.example", "https://acme.example/a", false},
		{"https://acme.example/a", "https://acme.example/b", false},
		{"", "", false},
	} {
		if got := boundOrigin(tt.launched, []string{tt.signed}); got != tt.want {
			t.Errorf("%s by a release of %s: %v", tt.launched, tt.signed, got)
		}
	}
}

// A package URL that can't be read in full names nothing.
func TestParsePURL(t *testing.T) {
	for text, want := range map[string]coordinate{
		"pkg:npm/weather@1.4.2#dist":                                {typ: "npm", name: "weather", version: "1.4.2"},
		"pkg:npm/weather#@9":                                        {typ: "npm", name: "weather"},
		"pkg:docker/localhost/weather@1":                            {typ: "docker", name: "localhost/weather", version: "1"},
		"pkg:docker/weather@1?repository_url=localhost":             {typ: "docker", name: "localhost/weather", version: "1"},
		"pkg:docker/weather@1?repository_url=registry.acme.example": {typ: "docker", name: "registry.acme.example/weather", version: "1"},
		"pkg:npm/weather@%zz":                                       {},
		"pkg:npm/%zz@1":                                             {},
		"pkg:docker/weather@1?tag=%zz":                              {},
		"npm/weather@1":                                             {},
		"pkg:gem/weather@1":                                         {},
	} {
		got, ok := parsePURL(text)
		if ok != (want != coordinate{}) || ok && got != want {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
}

// Digests are equal if they share a strong one and contradict each other in
// none.
func TestEqualDigests(t *testing.T) {
	type set = map[string]string
	for _, tt := range []struct {
		a, b            set
		equal, contrary bool
	}{
		{set{"sha256": "aa"}, set{"sha256": "aa"}, true, false},
		{set{"sha384": "aa"}, set{"sha384": "aa"}, true, false},
		{set{"sha512": "aa"}, set{"sha512": "aa"}, true, false},
		{set{"sha256": "aa"}, set{"sha256": "bb"}, false, true},
		{set{"sha256": "aa"}, set{"sha512": "aa"}, false, false},
		{set{"sha256": "aa", "sha512": "cc"}, set{"sha256": "aa", "sha512": "dd"}, false, true},
		{set{"sha1": "aa"}, set{"sha1": "aa"}, false, false},
		{set{"sha1": "aa"}, set{"sha1": "bb"}, false, false},
		{set{"sha256": ""}, set{"sha256": ""}, false, false},
		{set{"sha256": "aa"}, set{"sha256": ""}, false, false},
		{set{}, set{}, false, false},
	} {
		if got := equals(tt.a, tt.b); got != tt.equal {
			t.Errorf("equals(%v, %v) = %v", tt.a, tt.b, got)
		}
		if got := differs(tt.a, tt.b); got != tt.contrary {
			t.Errorf("differs(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
}

// One name under two types is two packages, and two versions are two releases
// of one.
func TestSamePackage(t *testing.T) {
	npm := coordinate{typ: "npm", name: "weather", version: "1"}
	for other, want := range map[coordinate]bool{
		npm:                           true,
		{typ: "npm", name: "weather"}: true,
		{typ: "npm", name: "weather", version: "2"}:  false,
		{typ: "npm", name: "other", version: "1"}:    false,
		{typ: "pypi", name: "weather", version: "1"}: false,
	} {
		if got := npm.samePackage(other); got != want {
			t.Errorf("%+v and %+v: %v", npm, other, got)
		}
	}
	if (coordinate{typ: "pypi", name: "weather"}).is([]lock.Artifact{{PURL: "pkg:npm/weather@1"}}, nil) {
		t.Error("a package of npm is what uvx launches")
	}
	if (Launch{Program: "./weather"}).names(lock.Artifact{Digest: sha256Of("aa")}) {
		t.Error("something without a name is what a command names")
	}
}

// What a release names, and what is launched, is said in full.
func TestNamed(t *testing.T) {
	const purl, other = "pkg:npm/weather@1", "pkg:npm/other@1"
	p := newPublisher(t)
	r := ask(listing(t, ab), p.sign(t, ab, func(r *attest.Release) {
		r.PURLs, r.Origins = []string{purl, other}, []string{"https://acme.example"}
		r.Artifacts = []attest.Resource{{URI: purl, Digest: sha512Of("aa")}, {Digest: sha256Of("bb")}}
	}))
	d := ruleFor(t, "", p).Decide(r)
	want := []string{other, "https://acme.example", "artifact " + purl + " sha512:" + sha512Of("aa")["sha512"], "artifact sha256:" + sha256Of("bb")["sha256"]}
	if got := d.Named(); !slices.Equal(got, want) {
		t.Errorf("Named is\n%q, want\n%q", got, want)
	}
	// A package that is named by digest alone is still to be compared.
	for command, want := range map[string]bool{"npx weather": true, "./weather": true, "node weather.js": true, "uvx weather": false} {
		if got := d.Compares(LaunchOf(strings.Fields(command))); got != want {
			t.Errorf("%s: Compares is %v", command, got)
		}
	}
	bare := ask(listing(t, ab), p.sign(t, ab, func(*attest.Release) {}))
	if ruleFor(t, "", p).Decide(bare).Compares(LaunchOf([]string{"npx", "weather"})) {
		t.Error("a release that names nothing is compared")
	}

	s := lock.Source{Command: []string{"npx", "weather"}, Env: []string{"NODE_OPTIONS", "TOKEN"}, Artifacts: []lock.Artifact{{PURL: purl, Digest: sha512Of("aa")}, {PURL: other}}}
	text := launchText(s)
	for _, part := range []string{"npx weather, which is " + s.Artifacts[0].String(), " and " + s.Artifacts[1].String(), ", with NODE_OPTIONS set"} {
		if !strings.Contains(text, part) {
			t.Errorf("the launch is shown as %q, want %q in it", text, part)
		}
	}
	if text := launchText(lock.Source{Command: []string{"npx", "weather"}}); text != "npx weather" {
		t.Errorf("the launch is shown as %q", text)
	}
}

// A certificate whose key is of a curve that is not accepted is refused.
func TestUntimedCurve(t *testing.T) {
	p := newPKI(t)
	key, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	chain := p.issuing.Leaf(key, sigtest.URI(release)).Chain
	p.bundle = sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: sigtest.P256(), Chain: chain}.Bundle()
	v := p.verifier(t, ", time: now", nil)
	d := v.Decide(ask(listing(t, abc), p.bundle))
	wantDiagnostics(t, d, BadSignature)
	if d.SignedErr() == nil {
		t.Error("it counts")
	}
}
