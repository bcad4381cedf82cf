package cli

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

func TestSecretArgument(t *testing.T) {
	for _, test := range []struct {
		argv string
		want int
	}{
		{"npx -y @acme/weather-mcp@1.4.2", -1},
		{"npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /home/me/TestRealServers2775746244/001", -1},
		{"docker run -i --rm -e ACME_TOKEN ghcr.io/acme/weather@sha256:3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d", -1},
		{"uvx --from git+https://github.com/acme/weather@3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d weather", -1},
		{"node server.js --port 3917 --log-level=debug --read-only", -1},
		{"weather --api-key ${ACME_KEY}", -1},
		{"weather --api-key=${env:ACME_KEY}", -1},
		{"weather --api-key $ACME_KEY", -1},
		{"weather --token-file /run/secrets/token", -1},
		{"weather --api-key --verbose", -1},
		{"weather --author me --tokenizer simple --pattern x", -1},
		{"a-very-long-name-of-a-server-2024-11-05-alpha", -1},
		{"weather the-quick-brown-fox-jumps-over-13-lazy-dogs", -1},

		{"weather --api-key 0123", 2},
		{"weather --api-key=0123", 1},
		{"weather --acme-token abc", 2},
		{"weather ACME_SECRET=abc", 1},
		{"weather --password hunter2", 2},
		{"weather ghp_0123456789abcdefghijABCDEFGHIJ012345", 1},
		{"weather sk-proj-0123456789abcdef", 1},
		{"weather eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", 1},
		{"weather postgres://me:hunter2@db.example/x", 1},
		{"weather --url=https://me:hunter2@db.example/x", 1},
		{"weather 3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d", 1},
		{"weather --config=Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0", 1},
		{"env API_KEY=abc npx weather", 1},
	} {
		if got := secretArgument(strings.Fields(test.argv)); got != test.want {
			t.Errorf("%s: argument %d looks like a secret, want %d", test.argv, got, test.want)
		}
	}
}

func TestCheckSecrets(t *testing.T) {
	for _, test := range []struct {
		source lock.Source
		ok     bool
	}{
		{lock.Source{}, true},
		{lock.Source{URL: "https://weather.acme.example/mcp"}, true},
		{lock.Source{URL: "https://weather.acme.example/api/v1/servers/weather/mcp"}, true},
		{lock.Source{URL: "https://hooks.acme.example/api/mcp/s/Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0/mcp"}, false},
		{lock.Source{Command: []string{"weather", "--token", "x"}}, false},
	} {
		err := checkSecrets(test.source)
		if (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.source, err)
		}
		if err != nil && (codeOf(err) != ExitUsage || strings.Contains(err.Error(), "Zx8Q")) {
			t.Errorf("%+v: %v", test.source, err)
		}
	}
}
