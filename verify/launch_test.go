package verify

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// What a command or URL launches is bound to what a release names.
func TestBound(t *testing.T) {
	hex := strings.Repeat("a", 64)
	digest, otherDigest := "sha256:"+hex, "sha256:"+strings.Repeat("b", 64)
	npm := attest.Release{PURLs: []string{"pkg:npm/%40acme/weather-mcp@1.4.2"}}
	plain := attest.Release{PURLs: []string{"pkg:npm/weather"}}
	pypi := attest.Release{PURLs: []string{"pkg:pypi/Weather_MCP@1.4.2"}}
	kit := attest.Release{PURLs: []string{"pkg:pypi/kit"}}
	docker := attest.Release{PURLs: []string{"pkg:docker/acme/weather@1.4.2?repository_url=ghcr.io"}}
	hub := attest.Release{PURLs: []string{"pkg:docker/acme/weather@1.4.2"}}
	oci := attest.Release{PURLs: []string{"pkg:oci/weather@" + strings.Replace(digest, ":", "%3A", 1) + "?repository_url=ghcr.io/acme/weather&tag=1.4.2"}}
	hashed := attest.Release{PURLs: hub.PURLs, Artifacts: []attest.Resource{{Digest: map[string]string{"sha512": hex}}, {Digest: map[string]string{"sha256": hex}}}}
	web := attest.Release{Origins: []string{"https://weather.acme.example", "https://alt.acme.example:8443/"}}
	for _, tt := range []struct {
		launch string
		rel    attest.Release
		want   bool
	}{
		{"npx -y @acme/weather-mcp@1.4.2", npm, true},
		{"npx @acme/weather-mcp", npm, true},
		{"npx --yes @acme/weather-mcp@latest --port 1 evil", npm, true},
		{"npx.cmd -y @acme/weather-mcp", npm, true},
		{"NPX.BAT -y @acme/weather-mcp", npm, true},
		{"npx --package=@acme/weather-mcp@1.4.2 weather-mcp", npm, true},
		{"npx -p @acme/weather-mcp weather-mcp --port 1 evil", npm, true},
		{"npx -p weather weather", plain, true},
		{"/usr/bin/npx -y @acme/weather-mcp@1.4.2", npm, false},
		{"./npx -y @acme/weather-mcp@1.4.2", npm, false},
		{"evil/npx.cmd -y @acme/weather-mcp@1.4.2", npm, false},
		{`.\npx -y @acme/weather-mcp@1.4.2`, npm, false},
		{`C:\node\npx.cmd -y @acme/weather-mcp`, npm, false},
		{"npx weather", plain, true},
		{"npx weather@9.9.9", plain, false}, // which version is signed is not said
		{"npx @acme/weather-mcp@1.4.3", npm, false},
		{"npx @acme/weather-mcp@^1.4", npm, false},
		{"npx @acme/weather-mcp@next", npm, false},
		{"npx @acme/weather-mcp@npm:evil@1.4.2", npm, false},
		{"npx weather-mcp@1.4.2", npm, false},
		{"npx @evil/weather-mcp@1.4.2", npm, false},
		{"npx -p evil -p @acme/weather-mcp weather", npm, false},
		{"npx -p @acme/weather-mcp -p evil weather-mcp", npm, false},
		{"npx -c evil @acme/weather-mcp", npm, false},
		{"npx --registry=https://evil.example @acme/weather-mcp", npm, false},
		{"npx --yes=1 @acme/weather-mcp", npm, false},
		{"npx -p", npm, false},
		{"npx -y", npm, false},
		{"npx", npm, false},
		{"npx ./weather", plain, false},
		{"npx acme/weather", plain, false},
		{"npx github:acme/weather", plain, false},
		{"npx -p @acme/weather-mcp", npm, false}, // a shell
		{"npx -p @acme/weather-mcp weather", npm, false},
		{"npx -p @acme/weather-mcp @acme/weather-mcp", npm, false},
		{"npx -y -p @acme/weather-mcp@1.4.2 setsid -w ./evilprog", npm, false},
		{"npx -p @acme/weather-mcp stdbuf -o0 ./evilprog", npm, false},
		{"npx -p @acme/weather-mcp Weather-MCP", npm, false},
		{"npx -p @acme/weather-mcp node ./evil.js", npm, false},
		{"npx -p @acme/weather-mcp sh -c evil", npm, false},
		{"npx -p @acme/weather-mcp ./weather", npm, false},
		{"npx -p @acme/weather-mcp C:\\evil.exe", npm, false},
		{"node weather", plain, false},
		{"npm exec weather", plain, false},
		{"uvx weather", plain, false},

		{"uvx weather-mcp", pypi, true},
		{"uvx weather.mcp@1.4.2", pypi, true},
		{"uvx --from Weather-MCP==1.4.2 weather-mcp", pypi, true},
		{"uvx --from=weather-mcp weather_mcp", pypi, true},
		{"uvx --from Weather-MCP==1.4.2 weather", pypi, false},
		{"uvx --from weather-mcp==1.4.2 setsid ./evil", pypi, false},
		{"uvx --from weather-mcp", pypi, false},
		{"uvx kit", kit, true},
		{"uvx --from kit Kit", kit, true},
		{"uvx \u212ait", kit, false}, // a sign that has k as its small letter
		{"uvx --from kit \u212ait", kit, false},
		{"./uvx weather-mcp", pypi, false},
		{"/usr/bin/uvx weather-mcp", pypi, false},
		{"uvx --python 3.12 weather-mcp@latest", pypi, true},
		{"uvx -p 3 weather-mcp", pypi, true},
		{"uvx --python=3.12.1 weather-mcp", pypi, true},
		{"uvx --python ./evil weather-mcp", pypi, false},
		{"uvx --python=evil weather-mcp", pypi, false},
		{"uvx -p /proc/self/cwd/python3 weather-mcp", pypi, false},
		{"uvx --python 3evil weather-mcp", pypi, false},
		{"uvx --python= weather-mcp", pypi, false},
		{"uvx weather-mcp==1.4.3", pypi, false},
		{"uvx --with evil weather-mcp", pypi, false},
		{"uvx --index-url https://evil.example weather-mcp", pypi, false},
		{"uvx --from git+https://evil.example/weather-mcp weather-mcp", pypi, false},
		{"uvx weather-mcp[evil]", pypi, false},
		{"uvx weather-mcp==", pypi, false},
		{"uvx --from weather-mcp python3.12 evil.py", pypi, false},

		{"docker run -i --rm ghcr.io/acme/weather:1.4.2", docker, true},
		{"podman run -i --rm -e KEY ghcr.io/acme/weather", docker, true},
		{"docker run ghcr.io/acme/weather:1.4.2 other command of the image", docker, true}, // arguments
		{"./docker run ghcr.io/acme/weather:1.4.2", docker, false},
		{"/usr/bin/podman run ghcr.io/acme/weather:1.4.2", docker, false},
		{"docker run --env=KEY --network none ghcr.io/acme/weather:latest x", docker, true},
		{"docker run acme/weather:1.4.2", hub, true},
		{"docker run docker.io/acme/weather:1.4.2", hub, true},
		{"docker run acme/weather:1.4.2", docker, false},
		{"docker run ghcr.io/acme/weather:1.4.3", docker, false},
		{"docker run ghcr.io:443/acme/weather:1.4.2", docker, false},
		{"docker run -v /:/host ghcr.io/acme/weather:1.4.2", docker, false},
		{"docker run --entrypoint evil ghcr.io/acme/weather:1.4.2", docker, false},
		{"docker run --privileged evil/image ghcr.io/acme/weather:1.4.2", docker, false},
		{"docker exec ghcr.io/acme/weather:1.4.2", docker, false},
		{"docker run", docker, false},
		{"docker", docker, false},
		{"docker run ghcr.io/acme/weather:1.4.2@" + digest, oci, true},
		{"docker run ghcr.io/acme/weather@" + digest, oci, true},
		{"docker run ghcr.io/acme/weather:1.4.2", oci, true},
		{"docker run ghcr.io/acme/weather:1.4.2@" + otherDigest, oci, false},
		{"docker run acme/weather@" + digest, hashed, true},
		{"docker run acme/weather:1.4.2@" + otherDigest, hashed, false},
		{"docker run acme/weather@sha256:" + hex[1:], hashed, false},
		{"docker run acme/weather@" + digest, hub, false},

		{"https://weather.acme.example/mcp", web, true},
		{"https://WEATHER.acme.example", web, true},
		{"https://weather.acme.example:443/", web, true},
		{"https://alt.acme.example:8443/mcp/v1", web, true},
		{"https://alt.acme.example/mcp", web, false},
		{"http://weather.acme.example/mcp", web, false},
		{"https://weather.acme.example.evil.example/mcp", web, false},
		{"https://evil.example/weather.acme.example", web, false},
		{"https://weather.acme.example/mcp", npm, false},
		{"npx weather", web, false},
	} {
		var s lock.Source
		if strings.Contains(tt.launch, " ") || !strings.HasPrefix(tt.launch, "http") {
			s.Command = strings.Fields(tt.launch)
		} else {
			s.URL = tt.launch
		}
		if got := bound(s, tt.rel); got != tt.want {
			t.Errorf("%s by %v %v: %v", tt.launch, tt.rel.PURLs, tt.rel.Origins, got)
		}
	}
	for _, text := range []string{"", "pkg:", "npm/weather", "pkg:npm/", "pkg:npm/%zz", "pkg:npm/Weather", "pkg:oci/weather@1", "pkg:golang/x", "pkg:npm/a?%zz", "pkg:docker/%2F"} {
		if c, ok := parsePURL(text); ok {
			t.Errorf("parsePURL(%s) = %+v", text, c)
		}
	}
	for _, text := range []string{"", "x", "https://", "https://u@a.example", "https://a.example/x", "https://a.example?x", "https://a.example#x", "https://[::1"} {
		if o, ok := origin(text); ok {
			t.Errorf("origin(%s) = %s", text, o)
		}
	}
	if bound(lock.Source{}, npm) || bound(lock.Source{}, attest.Release{}) {
		t.Error("nothing is bound")
	}
}

// Another launch than the signed one is shown, and refused where the rule binds
// the source; another than the approved one needs approval.
func TestSource(t *testing.T) {
	p := newPublisher(t)
	names := func(r *attest.Release) {
		r.PURLs, r.Origins = []string{"pkg:npm/weather@1.4.2"}, []string{"https://weather.acme.example"}
	}
	command := func(argv string) lock.Source { return lock.Source{Command: strings.Fields(argv)} }
	good, evil := command("npx weather@1.4.2"), command("npx evil@1.4.2")
	free, binds := ruleFor(t, "", p), ruleFor(t, "    bindSource: true\n", p)
	bundle := p.sign(t, ab, names)
	entryOf := func(s lock.Source) *lock.Server {
		r := ask(listing(t, ab), bundle)
		r.Source = s
		entry, err := free.Decide(r).Pin(r.Listing.Definitions...)
		if err != nil {
			t.Fatal(err)
		}
		return formatted(t, entry)
	}
	for _, tt := range []struct {
		name         string
		approved     lock.Source
		now          lock.Source
		free, binded string
	}{
		{"as signed and approved", good, good, "allow verified", "allow verified"},
		{"as signed, approved from files", lock.Source{}, good, "allow verified", "allow verified"},
		{"as signed, another than approved", evil, good, "undecided verified, source_changed", "undecided verified, source_changed"},
		{"as approved, another than signed", evil, evil, "allow verified, source_unbound", "deny source_unbound"},
		{"another than both", good, evil, "undecided verified, source_unbound, source_changed", "deny source_unbound"},
		{"from files", good, lock.Source{}, "allow verified", "deny source_unbound"},
		{"another path of the origin", lock.Source{URL: "https://weather.acme.example/a"}, lock.Source{URL: "https://weather.acme.example/b"}, "undecided verified, source_changed", "undecided verified, source_changed"},
		{"another environment", good, lock.Source{Command: good.Command, Env: []string{"ACME_UNITS"}}, "undecided verified, source_changed", "undecided verified, source_changed"},
		{"another working directory", lock.Source{Client: "cursor/weather", Command: good.Command}, lock.Source{Client: "cursor/weather", Command: good.Command, Dir: "sub"}, "undecided verified, source_changed", "undecided verified, source_changed"},
		{"another origin", lock.Source{URL: "https://weather.acme.example/a"}, lock.Source{URL: "https://evil.example/a"}, "undecided verified, source_unbound, source_changed", "deny source_unbound"},
		{"another program", command("npx -y weather@1.4.2"), good, "undecided verified, source_changed", "undecided verified, source_changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), bundle)
			r.Lock, r.Source = entryOf(tt.approved), tt.now
			for _, by := range []struct {
				v    *Verifier
				want string
			}{{free, tt.free}, {binds, tt.binded}} {
				d := by.v.Decide(r)
				wantVerdicts(t, d, "tool:a "+by.want+"; tool:b "+by.want)
				checkDecision(t, d, r)
			}
			// It can be approved where the rule allows it, and passes then.
			if entry, err := free.Decide(r).Pin(r.Listing.Definitions...); err != nil {
				t.Error(err)
			} else if r.Lock = formatted(t, entry); free.Decide(r).Err() != nil {
				t.Error(free.Decide(r).Err())
			}
		})
	}
	// Without signatures there is nothing to bind to, and a change is a change.
	v := newVerifier(t, nil, Trust{})
	r := ask(listing(t, ab))
	r.Lock = unsigned(t, ab)
	r.Lock.Source, r.Source = good, good
	wantVerdicts(t, v.Decide(r), "tool:a allow pinned; tool:b allow pinned")
	r.Source = evil
	wantVerdicts(t, v.Decide(r), "tool:a undecided pinned, source_changed; tool:b undecided pinned, source_changed")
	wantError(t, v.Decide(r).Err(), "tool:a is not allowed: source_changed")
}

// Where something else may have been launched no release names the launch,
// whatever it says and was read, and who asks is told why.
func TestDoubt(t *testing.T) {
	p := newPublisher(t)
	const purl, doubt = "pkg:npm/weather@1.4.2", "npx may have run another: see \u202e"
	release := func(r *attest.Release) {
		r.PURLs, r.Origins = []string{purl}, []string{"https://weather.acme.example"}
		r.Artifacts = []attest.Resource{{URI: purl, Digest: sha512Of("aa")}, {Digest: sha256Of("bb")}}
	}
	free, binds := ruleFor(t, "", p), ruleFor(t, "    bindSource: true\n", p)
	for _, s := range []lock.Source{
		{Command: []string{"npx", "weather@1.4.2"}},
		{Command: []string{"npx", "weather@1.4.2"}, Artifacts: []lock.Artifact{ofPackage(purl, sha512Of("aa"))}},
		{Command: []string{"node", "a.js"}, Artifacts: []lock.Artifact{ofFile("a.js", sha256Of("bb"))}},
		{URL: "https://weather.acme.example/mcp"},
	} {
		r := ask(listing(t, ab), p.sign(t, ab, release))
		r.Source = s
		entry, err := binds.Decide(r).Pin(r.Listing.Definitions...)
		if err != nil {
			t.Fatalf("%v is not bound without a doubt: %v", s, err)
		}
		r.Lock, r.Doubt = formatted(t, entry), doubt
		wantVerdicts(t, free.Decide(r), "tool:a allow verified, source_unbound; tool:b allow verified, source_unbound")
		d := binds.Decide(r)
		wantVerdicts(t, d, "tool:a deny source_unbound; tool:b deny source_unbound")
		checkDecision(t, d, r)
		if _, err := d.Pin(r.Listing.Definitions...); err == nil {
			t.Errorf("%v is pinned in doubt", s)
		}
		got := explained(d.Explain(lock.Tool, "a"))
		if !strings.Contains(got, "source false: ") || !strings.Contains(got, "which is in doubt: npx may have run another: see ") {
			t.Errorf("%v: %s", s, got)
		}
		checkShown(t, strings.ReplaceAll(got, "\n", " "))
	}
}
