package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// digests of three contents; hex is one of their bytes.
func sha256Of(hex string) map[string]string {
	return map[string]string{"sha256": strings.Repeat(hex, 32)}
}
func sha512Of(hex string) map[string]string {
	return map[string]string{"sha512": strings.Repeat(hex, 64)}
}

func ofPackage(purl string, digest map[string]string) lock.Artifact {
	return lock.Artifact{PURL: purl, Digest: digest}
}

func ofFile(name string, digest map[string]string) lock.Artifact {
	return lock.Artifact{File: name, Digest: digest}
}

// What was read of a command is compared with what the release has.
func TestBoundByDigest(t *testing.T) {
	const purl, scoped = "pkg:npm/weather@1.4.2", "pkg:npm/%40acme/weather@1.4.2"
	named := attest.Release{PURLs: []string{purl}}
	both := attest.Release{PURLs: []string{purl}, Artifacts: []attest.Resource{{URI: purl, Digest: sha512Of("aa")}}}
	hashed := attest.Release{Artifacts: both.Artifacts}
	foreign := attest.Release{PURLs: []string{purl}, Artifacts: []attest.Resource{{URI: scoped, Digest: sha512Of("aa")}}}
	versionless := attest.Release{PURLs: []string{purl}, Artifacts: []attest.Resource{{URI: "pkg:npm/weather", Digest: sha512Of("aa")}}}
	several := attest.Release{PURLs: []string{purl, "pkg:npm/weather@1.4.3"}, Artifacts: []attest.Resource{
		{URI: "pkg:npm/other@1.4.2", Digest: sha512Of("bb")}, {URI: purl, Digest: sha512Of("aa")}, {URI: purl, Digest: sha512Of("cc")}}}
	weak := attest.Release{PURLs: []string{purl}, Artifacts: []attest.Resource{{URI: purl, Digest: map[string]string{"sha1": strings.Repeat("aa", 20), "sha256": ""}}}}
	torn := attest.Release{Artifacts: []attest.Resource{{URI: purl, Digest: map[string]string{"sha256": strings.Repeat("bb", 32), "sha512": strings.Repeat("aa", 64)}}}}
	files := attest.Release{Artifacts: []attest.Resource{{URI: "https://acme.example/linux", Digest: sha256Of("aa")}, {Digest: sha256Of("bb")}, {URI: purl, Digest: sha256Of("cc")}}}
	image := attest.Release{PURLs: []string{"pkg:docker/acme/weather@1"}, Artifacts: []attest.Resource{{Digest: sha256Of("aa")}}}
	for _, tt := range []struct {
		launch string
		read   []lock.Artifact
		rel    attest.Release
		want   bool
	}{
		// A package.
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, true},
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, true},
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, both, false},
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, both, false},
		{"npx weather@1.4.2", nil, both, true},
		{"npx weather", nil, both, true},
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha256Of("bb"))}, both, true}, // nothing to compare with
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, named, true},
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, named, true},

		// The version that was read is the one that counts.
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("bb"))}, named, false},
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("bb"))}, both, false},
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("aa"))}, both, false},
		{"npx weather@1.4.2", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("bb"))}, named, false},
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("bb"))}, several, true}, // named, and no artifact of that version
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/weather@1.4.3", sha512Of("bb"))}, versionless, false},
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, versionless, true},

		// One of several artifacts of the package is enough; those of others are no matter.
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("cc"))}, several, true},
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, several, false},
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, weak, true},
		{"npx weather@1.4.2", []lock.Artifact{ofPackage(purl, map[string]string{"sha1": strings.Repeat("aa", 20)})}, weak, true},
		{"npx weather", []lock.Artifact{ofPackage(purl, map[string]string{"sha256": strings.Repeat("aa", 32), "sha512": strings.Repeat("aa", 64)})}, torn, false},

		// Without a purl the digest alone binds, if it is known.
		{"npx weather", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, hashed, true},
		{"npx weather@1.4.2", nil, hashed, false},
		{"npx ${PACKAGE}", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, hashed, false},
		{"npx ${PACKAGE}", []lock.Artifact{ofPackage(purl, sha512Of("bb"))}, both, false},
		{"npx weather", []lock.Artifact{ofPackage(scoped, sha512Of("aa"))}, hashed, false},

		// What was read is not what the command names.
		{"npx weather", []lock.Artifact{ofPackage(scoped, sha512Of("aa"))}, named, false},
		{"npx weather", []lock.Artifact{ofPackage(scoped, sha512Of("aa"))}, foreign, false},
		{"npx weather@1.4.3", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, false},
		{"uvx weather", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, false},
		{"./npx weather@1.4.2", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, false},
		{"./npx weather@1.4.2", []lock.Artifact{ofFile("./npx", sha256Of("aa"))}, files, false},
		{"/proc/self/cwd/node weather.js", []lock.Artifact{ofFile("weather.js", sha256Of("bb"))}, files, false},
		{"node --import ./x.mjs weather.js", []lock.Artifact{ofFile("weather.js", sha256Of("bb"))}, files, false},
		{"npx -p weather@1.4.2 setsid", []lock.Artifact{ofPackage(purl, sha512Of("aa"))}, both, false},
		{"npx weather", []lock.Artifact{ofPackage("pkg:npm/", sha512Of("aa"))}, named, false},
		{"npx weather", []lock.Artifact{ofFile("npx", sha256Of("dd"))}, named, false},

		// A program or a script is any artifact.
		{"./weather --port 1", []lock.Artifact{ofFile("./weather", sha256Of("aa"))}, files, true},
		{"node weather.js", []lock.Artifact{ofFile("weather.js", sha256Of("bb"))}, files, true},
		{"./weather", []lock.Artifact{ofFile("./weather", sha256Of("cc"))}, files, true},
		{"./weather", []lock.Artifact{ofFile("./weather", sha256Of("ab"))}, files, false},
		{"./weather", []lock.Artifact{ofFile(purl, sha256Of("ab"))}, both, false},
		{"./weather", nil, files, false},
		{"./weather", []lock.Artifact{ofFile("./weather", map[string]string{})}, files, false},
		{"./weather", []lock.Artifact{ofFile("./weather", map[string]string{"sha256": ""})}, weak, false},
		{"./weather", []lock.Artifact{ofFile("./weather", sha256Of("ab")), ofFile("x", sha256Of("aa"))}, files, false},
		{"./weather", []lock.Artifact{ofFile("./weather", sha256Of("ab")), ofFile("./weather", sha256Of("aa"))}, files, true},
		{"${SERVER}", []lock.Artifact{ofFile("${SERVER}", sha256Of("aa"))}, files, true},

		// An image by tag has no digest that can be read.
		{"docker run acme/weather:1", nil, image, true},
		{"docker run acme/weather@sha256:" + strings.Repeat("aa", 32), nil, image, true},
		{"docker run acme/weather:1@sha256:" + strings.Repeat("bb", 32), nil, image, false},
	} {
		s := lock.Source{Command: strings.Fields(tt.launch), Artifacts: tt.read}
		if got := bound(s, tt.rel); got != tt.want {
			t.Errorf("%s, read as %v, by %v %v: %v", tt.launch, tt.read, tt.rel.PURLs, tt.rel.Artifacts, got)
		}
	}
}

// Nothing is bound in an environment that says where programs, packages or
// libraries come from.
func TestSteers(t *testing.T) {
	rel := attest.Release{PURLs: []string{"pkg:npm/weather@1.4.2"}, Artifacts: []attest.Resource{{Digest: sha256Of("aa")}}}
	for _, s := range []lock.Source{
		{Command: []string{"npx", "weather@1.4.2"}},
		{Command: []string{"./weather"}, Artifacts: []lock.Artifact{ofFile("./weather", sha256Of("aa"))}},
	} {
		for _, name := range []string{
			"WEATHER_TOKEN", "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONUTF8", "UVICORN_PORT", "PATHS", "HOMEBASE", "ENVIRONMENT", "SHELLY_KEY",
			"HTTPS_PROXY", "GEMINI_API_KEY", "TZ", "LANG", "PERPLEXITY_API_KEY", "CORE_API", "MISER",
		} {
			if s.Env = []string{"A", name}; !bound(s, rel) || len(Steering(s)) > 0 {
				t.Errorf("%v with %s is not bound", s.Command, name)
			}
		}
		for _, name := range []string{
			"PATH", "Path", "PATHEXT", "ComSpec", "SHELL", "ENV", "BASH_ENV", "BASH_FUNC_node%%", "SHELLOPTS",
			"HOME", "USERPROFILE", "LOCALAPPDATA", "LocalAppData", "APPDATA", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PREFIX",
			"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_REPL_EXTERNAL_MODULE", "npm_config_registry", "NPM_CONFIG_CACHE",
			"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONWARNINGS", "PYTHONUSERBASE", "UV_INDEX_URL", "PIP_INDEX_URL", "PYENV_ROOT",
			"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "OPENSSL_CONF", "SSL_CERT_FILE", "DOCKER_HOST", "CONTAINER_HOST", "CONTAINERS_CONF",
			"DOTNET_STARTUP_HOOKS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB",
		} {
			if s.Env = []string{"A", name}; bound(s, rel) || !slices.Equal(Steering(s), []string{name}) {
				t.Errorf("%v with %s: bound is %v, because of %q", s.Command, name, bound(s, rel), Steering(s))
			}
		}
	}
}

// LaunchOf tells a package, a script and a program apart, or says nothing.
func TestLaunchOf(t *testing.T) {
	hex := strings.Repeat("a", 64)
	for command, want := range map[string]Launch{
		"npx -y @acme/weather@1.4.2":            {Launcher: "npx", Package: "@acme/weather@1.4.2", Name: "@acme/weather", Version: "1.4.2"},
		`npx.CMD @acme/weather@latest`:          {Launcher: "npx", Package: "@acme/weather@latest", Name: "@acme/weather"},
		"npx -p weather weather":                {Launcher: "npx", Package: "weather", Name: "weather"},
		"uvx --from Weather_MCP==1 weather_mcp": {Launcher: "uvx", Package: "Weather_MCP==1", Name: "weather-mcp", Version: "1"},
		`C:\node\npx.CMD @acme/weather@latest`:  {},
		"./npx @acme/weather@1.4.2":             {},
		"/usr/bin/npx @acme/weather@1.4.2":      {},
		`evil\npx.cmd @acme/weather`:            {},
		"./uvx weather":                         {},
		"./docker run acme/weather:1":           {},
		"npx -p weather setsid":                 {},
		"npx -p weather":                        {},
		"uvx --from weather setsid":             {},
		"docker run -i acme/weather:1":          {Launcher: "docker", Package: "acme/weather:1", Name: "docker.io/acme/weather", Version: "1"},
		"npx a@1.0.0":                           {Launcher: "npx", Package: "a@1.0.0", Name: "a", Version: "1.0.0"},
		"docker run weather":                    {Launcher: "docker", Package: "weather", Name: "docker.io/library/weather"},
		"docker run a/b@sha256:" + hex:          {Launcher: "docker", Package: "a/b@sha256:" + hex, Name: "docker.io/a/b"},
		"docker run a:?":                        {},
		"docker start weather":                  {},
		"npx -c evil":                           {},
		"npx":                                   {},
		"uvx --with evil weather":               {},
		"npx @acme/weather@next":                {},
		"npx ../evil":                           {},
		"npx -y":                                {},
		"npx -y=1 weather":                      {},
		"npx -p":                                {},
		"npx -p a -p weather weather":           {},
		"npx --package=weather@2 weather":       {Launcher: "npx", Package: "weather@2", Name: "weather", Version: "2"},
		"npx -p @acme/weather weather":          {Launcher: "npx", Package: "@acme/weather", Name: "@acme/weather"},
		"npx -p weather Weather":                {},
		"uvx -p 3.12 weather":                   {Launcher: "uvx", Package: "weather", Name: "weather"},
		"uvx -p ./evil weather":                 {},
		"uvx --python=3.12 weather==1":          {Launcher: "uvx", Package: "weather==1", Name: "weather", Version: "1"},
		"uvx --python=./evil weather":           {},
		"uvx -p":                                {},
		"uvx weather@latest":                    {Launcher: "uvx", Package: "weather@latest", Name: "weather"},
		"uvx weather@main":                      {},
		"uvx weather==./x":                      {},
		"uvx git+https://acme.example/x":        {},
		"uvx --from weather Weather":            {Launcher: "uvx", Package: "weather", Name: "weather"},
		"uvx --from weather ./weather":          {},
		"docker run acme/weather:-x":            {},
		"docker run acme/weather@sha256:aa":     {},
		"docker run ACME/weather":               {},
		"docker run localhost:5000/weather":     {Launcher: "docker", Package: "localhost:5000/weather", Name: "localhost:5000/weather"},
		"docker run localhost:5000/weather:1":   {Launcher: "docker", Package: "localhost:5000/weather:1", Name: "localhost:5000/weather", Version: "1"},
		"docker run -e A=1 acme/weather:1":      {Launcher: "docker", Package: "acme/weather:1", Name: "docker.io/acme/weather", Version: "1"},
		"docker run --env=A acme/weather:1":     {Launcher: "docker", Package: "acme/weather:1", Name: "docker.io/acme/weather", Version: "1"},
		"docker run -e":                         {},
		"docker run --privileged acme/weather":  {},
		"docker exec acme/weather:1":            {},
		"docker run":                            {},
		"podman run weather:latest":             {Launcher: "podman", Package: "weather:latest", Name: "docker.io/library/weather"},
		"node server.js --port 1":               {Script: "server.js"},
		`node.exe C:\a\b.js`:                    {Script: `C:\a\b.js`},
		"/usr/bin/node ./dist/index.mjs":        {},
		"/proc/self/cwd/node server.js":         {},
		`C:\node\node.exe C:\a\b.js`:            {},
		"python3.12 server.py":                  {Script: "server.py"},
		"Python server.py":                      {Script: "server.py"},
		"./node server.js":                      {},
		"node_modules/.bin/node server.js":      {},
		"node -e evil":                          {},
		"node -r ./evil.js server.js":           {},
		"node --import=./evil.js server.js":     {},
		"node inspect server.js":                {},
		"node server":                           {},
		"node -x.js":                            {},
		"node":                                  {},
		"python -m server":                      {},
		"python -c evil.py":                     {},
		"python -":                              {},
		"bash server.py":                        {},
		"env ./weather":                         {},
		"deno run server.ts":                    {},
		"sudo ./weather":                        {},
		"uv run server.py":                      {},
		"./weather --port 1":                    {Program: "./weather"},
		"weather-refresh":                       {Program: "weather-refresh"},
		`C:\weather.exe`:                        {Program: `C:\weather.exe`},
		"":                                      {},
	} {
		if got := LaunchOf(strings.Fields(command)); got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
}

// Options that are known may stand before a package, with a value where they take
// one, and without it where they do not.
func TestLaunchOptions(t *testing.T) {
	check := func(argv []string, want Launch) {
		t.Helper()
		if got := LaunchOf(argv); got != want {
			t.Errorf("%q: %+v, want %+v", argv, got, want)
		}
	}
	npx, uvx := Launch{Launcher: "npx", Package: "weather", Name: "weather"}, Launch{Launcher: "uvx", Package: "weather", Name: "weather"}
	docker := Launch{Launcher: "docker", Package: "weather", Name: "docker.io/library/weather"}
	for _, tt := range []struct {
		start, flags, values string
		want                 Launch
	}{
		{"npx", "-y --yes -q --quiet --silent", "", npx},
		{"uvx", "-q --quiet --isolated --offline --no-progress", "", uvx},
		{"docker run", "-i -t -it -ti --interactive --tty --rm --init --read-only -q --quiet", "-e --env --env-file --name --network --net -p --publish " +
			"-u --user -w --workdir -l --label -m --memory --cpus --pull --cap-drop --security-opt --add-host -h --hostname", docker},
	} {
		for _, option := range strings.Fields(tt.flags) {
			check(strings.Fields(tt.start+" "+option+" weather other"), tt.want)
			check(strings.Fields(tt.start+" "+option+"=1 weather"), Launch{})
		}
		for _, option := range strings.Fields(tt.values) {
			check(strings.Fields(tt.start+" "+option+" value weather other"), tt.want)
			check(strings.Fields(tt.start+" "+option+"=value weather other"), tt.want)
			check(strings.Fields(tt.start+" "+option), Launch{})
		}
	}
}

// The digest decides where the rule binds the source, is shown where it does
// not, and is asked for only where it is compared with something.
func TestSourceByDigest(t *testing.T) {
	p := newPublisher(t)
	with := func(purl string, artifacts ...attest.Resource) func(*attest.Release) {
		return func(r *attest.Release) {
			r.Artifacts = artifacts
			if purl != "" {
				r.PURLs = []string{purl}
			}
		}
	}
	const purl = "pkg:npm/weather@1.4.2"
	npx, program := []string{"npx", "weather@1.4.2"}, []string{"./weather"}
	free, binds := ruleFor(t, "", p), ruleFor(t, "    bindSource: true\n", p)
	for _, tt := range []struct {
		name     string
		release  func(*attest.Release)
		source   lock.Source
		compares bool
		bound    bool
	}{
		{"nothing signed, nothing read", with(""), lock.Source{Command: program}, false, false},
		{"package by name", with(purl), lock.Source{Command: npx}, true, true},
		{"program with a purl", with(purl), lock.Source{Command: program}, false, false},
		{"program", with("", attest.Resource{Digest: sha256Of("aa")}), lock.Source{Command: program}, true, false},
		{"program with another algorithm", with("", attest.Resource{Digest: sha512Of("aa")}), lock.Source{Command: program}, false, false},
		{"program read", with("", attest.Resource{Digest: sha256Of("aa")}), lock.Source{Command: program, Artifacts: []lock.Artifact{ofFile("./weather", sha256Of("aa"))}}, true, true},
		{"program changed", with("", attest.Resource{Digest: sha256Of("aa")}), lock.Source{Command: program, Artifacts: []lock.Artifact{ofFile("./weather", sha256Of("ab"))}}, true, false},
		{"package read", with(purl, attest.Resource{URI: purl, Digest: sha512Of("aa")}), lock.Source{Command: npx, Artifacts: []lock.Artifact{ofPackage(purl, sha512Of("aa"))}}, true, true},
		{"package replaced", with(purl, attest.Resource{URI: purl, Digest: sha512Of("aa")}), lock.Source{Command: npx, Artifacts: []lock.Artifact{ofPackage(purl, sha512Of("ab"))}}, true, false},
		{"other launchers", with("pkg:pypi/weather@1.4.2"), lock.Source{Command: []string{"uvx", "weather@1.4.2"}}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), p.sign(t, ab, tt.release))
			r.Source = tt.source
			entry, err := free.Decide(r).Pin(r.Listing.Definitions...)
			if err != nil {
				t.Fatal(err)
			}
			r.Lock = formatted(t, entry)
			want := [2]string{"allow verified", "allow verified"}
			if !tt.bound {
				want = [2]string{"allow verified, source_unbound", "deny source_unbound"}
			}
			for i, v := range []*Verifier{free, binds} {
				d := v.Decide(r)
				wantVerdicts(t, d, fmt.Sprintf("tool:a %s; tool:b %[1]s", want[i]))
				checkDecision(t, d, r)
				if got := d.Compares(LaunchOf(tt.source.Command)); got != tt.compares {
					t.Errorf("Compares = %v", got)
				}
			}
			for _, text := range binds.Decide(r).Named() {
				checkShown(t, text)
			}
		})
	}
	// Several policies ask together.
	r := ask(listing(t, ab), p.sign(t, ab, with(purl)))
	q := policy(t, "version: 1\nrules: [{servers: ['**'], pinnedOnly: x}]")
	v := newVerifier(t, free.sets[0].Policy, trustKeys(p.key), q)
	if !v.Decide(r).Compares(LaunchOf(npx)) || v.Decide(r).Compares(LaunchOf(program)) {
		t.Error("two policies do not compare what one does")
	}
}
