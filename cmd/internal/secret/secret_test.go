package secret

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// An entry is one of mcpServers in the configuration of a host.
type entry struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// found reports whether a part of the entry that is recorded looks like a secret.
func (e entry) found() bool {
	if First(append([]string{e.Command}, e.Args...)) >= 0 || len(URL(e.URL)) > 0 {
		return true
	}
	for name, value := range e.Headers {
		if Header(name, value) {
			return true
		}
	}
	return false
}

// The figures of testdata/entries.txt. They may fall, not rise.
const (
	maxMisses      = 4
	maxFalseAlarms = 0
)

func TestEntries(t *testing.T) {
	file, err := os.Open("testdata/entries.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := map[string]int{}
	var misses, alarms []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.ReplaceAll(lines.Text(), "^", "")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, text, _ := strings.Cut(line, " ")
		count[kind]++
		var e entry
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch found := e.found(); {
		case kind == "secret" && !found:
			misses = append(misses, text)
		case kind == "clean" && found:
			alarms = append(alarms, text)
		}
	}
	if err := lines.Err(); err != nil || count["secret"] < 100 || count["clean"] < 100 || len(count) != 2 {
		t.Fatalf("%v, entries: %v", err, count)
	}
	t.Logf("%d misses of %d, %d false alarms of %d", len(misses), count["secret"], len(alarms), count["clean"])
	if len(misses) > maxMisses {
		t.Errorf("%d misses, more than %d:\n%s", len(misses), maxMisses, strings.Join(misses, "\n"))
	}
	if len(alarms) > maxFalseAlarms {
		t.Errorf("%d false alarms, more than %d:\n%s", len(alarms), maxFalseAlarms, strings.Join(alarms, "\n"))
	}
}

func TestFirst(t *testing.T) {
	for _, test := range []struct {
		argv string
		want int
	}{
		{"npx -y @acme/weather-mcp@1.4.2", -1},
		{"node server.js --port 3917 --log-level=debug --read-only", -1},
		{"weather --api-key ${ACME_KEY}", -1},
		{"weather --api-key=${env:ACME_KEY}", -1},
		{"weather --api-key $ACME_KEY", -1},
		{"weather --token-file /run/secrets/token", -1},
		{"weather --api-key --verbose", -1},
		{"weather --author me --tokenizer simple --pattern x", -1},
		{"a-very-long-name-of-a-server-2024-11-05-alpha", -1},
		{"npx -y sk-weather-of-acme", -1},

		{"weather --api-key 0123", 2},
		{"weather --api-key=0123", 1},
		{"weather --acme-token abc", 2},
		{"weather --acmeToken abc", 2},
		{"weather --APIToken=abc", 1},
		{"weather ACME_SECRET=abc", 1},
		{"weather --password hunter2", 2},
		{"weather ghp_0123456789abcdefghijABCDEFGHIJ012345", 1},
		{"weather sk-proj-0123456789abcdef", 1},
		{"weather eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", 1},
		{"weather postgres://me:hunter2@db.example/x", 1},
		{"weather --url=https://me:hunter2@db.example/x", 1},
		{"weather --url=https://db.example/x?user=${USER}&password=hunter2", 1},
		{"weather 3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d", 1},
		{"weather --config=Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0", 1},
		{"env API_KEY=abc npx weather", 1},
	} {
		if got := First(strings.Fields(test.argv)); got != test.want {
			t.Errorf("%s: argument %d looks like a secret, want %d", test.argv, got, test.want)
		}
	}
}

func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "X-Api-Key": true, "x_api_key": true, "apiKey": true, "X-Session-Id": true, "X-Sig": true, "X-Pass": true, "X-Acme-Key": true,
		"PGPASSWORD": true, "MYSQL_PWD": true, "accessToken": true, "APIToken2": true, "GOOGLE_CREDENTIALS_JSON": true, "X-Amz-Security-Token": true,
		"": false, "X-Author": false, "X-Design": false, "X-Monkey": false, "Keyspace": false, "X-Compass": false, "toolset": false, "max_tokens": false,
		"X-Auth-Mode": false, "tokenizer": false, "X-Project-Key": false, "password_file": false, "no-auth": false,
	} {
		if Name(name) != want {
			t.Errorf("%q holds a secret: %t", name, !want)
		}
	}
}

// What is hidden is the secret, and nothing else of the argument.
func TestArgument(t *testing.T) {
	for _, test := range []struct{ flag, text, want string }{
		{"--header", "Authorization: Bearer abc", "Authorization: Bearer #"},
		{"--header", "X-Api-Key:abc", "X-Api-Key:#"},
		{"-x", "Server=db;User Id=sa;Password=hunter2!;Encrypt=true", "Server=db;User Id=sa;Password=#;Encrypt=true"},
		{"-x", "jdbc:postgresql://db/x?user=a&password=hunter2&ssl=1", "jdbc:postgresql://db/x?user=a&password=#&ssl=1"},
		{"-x", "--url=https://h.example/x?api_key=abcdef12", "--url=https://h.example/x?api_key=#"},
		{"-x", "postgres://me:hunter2@db/x", "postgres://#@db/x"},
		{"-x", `{"apiKey":"abc","region":"eu"}`, `{"apiKey":"#","region":"eu"}`},
		{"-x", "exec acme --token abc --port 1", "exec acme --token # --port 1"},
		{"--api-key", "q7Zx/Rk2mPz9+Lw4", "#"},
		{"--password", "a b", "#"},
		{"--password=x", "a b", "a b"},
	} {
		got, at := "", 0
		for _, s := range Argument([]string{"weather", test.flag, test.text}, 2) {
			got, at = got+test.text[at:s.Start]+"#", s.End
		}
		if got += test.text[at:]; got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.flag, test.text, got, test.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"Authorization", "Bearer abc", true}, {"Authorization", "Bearer ${TOKEN}", false}, {"Authorization", "@token.txt", false},
		{"X-Session-Id", "abc", true}, {"X-Org", "acme", false}, {"X-Org", "ghp_0123456789abcdefghijABCDEFGHIJ012345", true},
		{"X-Org", "Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0-${ORG}", true}, {"X-Auth-Mode", "oauth", false},
	} {
		if got := Header(test.name, test.value); got != test.want {
			t.Errorf("%s: %s is a secret: %t", test.name, test.value, got)
		}
	}
}

func TestSigning(t *testing.T) {
	for name, want := range map[string]bool{
		"MCPSIGN_PASSWORD": true, "mcpsign_pin": true, "MCPSIGN_ID_TOKEN": true, "COSIGN_PASSWORD": true, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": true,
		"SIGSTORE_ID_TOKEN": true, "CI_JOB_JWT_V2": true, "MCPSIGN_INPUT_KEY": false, "GITHUB_TOKEN": false, "PATH": false, "": false,
	} {
		if Signing(name) != want {
			t.Errorf("%q lets its holder sign: %t", name, !want)
		}
	}
}

// FuzzSpans holds the parts to the order and the bounds that callers rely on.
func FuzzSpans(f *testing.F) {
	for _, s := range []string{"", "a=b", "--token=abc", "Authorization: Bearer x", "a://b:c@d", `{"token":"x"}`, "\xff=\xff", "=\"", "token=\"x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, all := range [][]Span{Argument([]string{"a", "--token", text}, 2), Spans(text), URL(text)} {
			at := 0
			for _, s := range all {
				if s.Start < at || s.End <= s.Start || s.End > len(text) {
					t.Fatalf("%q: %v", text, all)
				}
				at = s.End
			}
		}
	})
}

// A hostile argument is not searched for minutes.
func TestLongArguments(t *testing.T) {
	start := time.Now()
	for _, piece := range []string{"=", "a=", "token=x&", "\"", `"a":"`, ": ", "://", "a:b@", "/Zx8Qw3Lm7", "${", "-a b ", "<a"} {
		Spans(strings.Repeat(piece, 2<<20/len(piece)))
	}
	if spent := time.Since(start); spent > time.Minute {
		t.Errorf("searching took %s", spent)
	}
}
