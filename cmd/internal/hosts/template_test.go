package hosts_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// quoted returns a text in JSON.
func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is shown of a header: which variables it takes, and nothing that is written out.
func TestHeaderTemplates(t *testing.T) {
	env := map[string]string{"KEY": "s3cr3t", "low": "s3cr3t"}
	for _, test := range []struct{ host, value, want string }{
		{"cursor", "Bearer ${env:KEY}", "Bearer ${env:KEY}"},
		{"cursor", "${env:KEY}", "${env:KEY}"},
		{"cursor", "${env:GONE}", "${env:GONE}"},
		{"cursor", "s3cr3t", "..."},
		{"cursor", "", ""},
		{"cursor", "Bearer s3cr3t", "..."},
		{"cursor", "Bearer s3cr3t ${env:KEY}", "...${env:KEY}"},
		{"cursor", "Basic ${env:KEY} s3cr3t ${env:GONE}s3cr3t", "Basic ${env:KEY}...${env:GONE}..."},
		{"cursor", "Bearer${env:KEY}", "...${env:KEY}"},
		{"cursor", "Averyverylongscheme ${env:KEY}", "...${env:KEY}"},
		{"cursor", "@/etc/hostname", "..."},
		{"cursor", "${env:KEY", "..."},
		{"cursor", "${KEY}", "..."}, // Cursor knows no such placeholder
		{"cursor", "${workspaceFolder}/s3cr3t", "${workspaceFolder}..."},
		{"vscode", "token ${input:key}", "token ${input:key}"},
		{"claude-code", "Bearer ${KEY}", "Bearer ${KEY}"},
		{"claude-code", "Bearer ${KEY:-s3cr3t}", "Bearer ${KEY:-...}"},
		{"claude-code", "$KEY", "..."},
		{"gemini", "Bearer $KEY", "Bearer $KEY"},
		{"gemini", "$low", "$low"},
		{"gemini", "pa$word", "..."},
		{"windsurf", "${env:KEY}", "${env:KEY}"},
	} {
		url := map[string]string{"windsurf": "serverUrl", "gemini": "httpUrl"}[test.host]
		if url == "" {
			url = "url"
		}
		entry := `{"type": "http", "` + url + `": "https://a.example/mcp", "headers": {"X-A": ` + quoted(t, test.value) + `}}`
		e := find(t, user(test.host, server(test.host, entry), env), test.host, "x")
		if len(e.Headers) != 1 || e.Headers[0].Name != "X-A" || e.Headers[0].Template != test.want {
			t.Errorf("%s: %q is shown as %q, want %q", test.host, test.value, e.Headers, test.want)
		}
	}
}

// What is shown of a URL: where it leads, with its path, and which variables go there.
func TestEndpoints(t *testing.T) {
	for _, test := range []struct{ host, url, want string }{
		{"cursor", "https://a.example:8443/t/one/mcp", "https://a.example:8443/t/one/mcp"},
		{"cursor", "https://a.example", "https://a.example"},
		{"cursor", "https://a.example/mcp?t=${env:GITHUB_TOKEN}&k=s3cr3t&s3cr3t#s3cr3t", "https://a.example/mcp?t=${env:GITHUB_TOKEN}&k=...&...#..."},
		{"cursor", "https://a.example/?", "https://a.example/?"},
		{"cursor", "https://a.example/mcp?t=s3cr3t${env:A}s3cr3t", "https://a.example/mcp?t=...${env:A}..."},
		{"cursor", "https://me:s3cr3t@a.example/@/mcp", "https://...@a.example/@/mcp"},
		{"cursor", "https://me:${env:A}@s3cr3t@a.example/mcp", "https://...${env:A}...@a.example/mcp"},
		{"cursor", "https://good.example@evil.example?x=//y@z", "https://...@evil.example?x=..."},
		{"cursor", "https://${env:HOST}/${env:A}/mcp", "https://${env:HOST}/${env:A}/mcp"},
		{"cursor", "${env:URL}", "${env:URL}"},
		{"claude-code", "https://${HOST:-evil.example}/mcp?t=${T:-?#@}", "https://${HOST:-evil.example}/mcp?t=${T:-?#@}"},
		{"gemini", "https://a.example/$PATH?$A=$A", "https://a.example/$PATH?$A=$A"},
		{"cursor", strings.Repeat("${env:A}", 3) + "\u202e", strings.Repeat("${env:A}", 3) + "\u202e"},
	} {
		url := "url"
		if test.host == "gemini" {
			url = "httpUrl"
		}
		e := find(t, user(test.host, server(test.host, `{"type": "http", "`+url+`": `+quoted(t, test.url)+`}`), nil), test.host, "x")
		if e.Endpoint != test.want {
			t.Errorf("%s: %s is shown as %s, want %s", test.host, test.url, e.Endpoint, test.want)
		}
	}
}
