package launch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	base64A = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
	goodHex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
	good    = `{
  "name": "56261faebc426525",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "node_modules/@acme/weather-mcp": {
      "version": "1.4.2",
      "resolved": "https://registry.example/weather-mcp-1.4.2.tgz",
      "integrity": "sha512-` + base64A + `",
      "dependencies": {"zod": "^3"},
      "bin": {"weather-mcp": "index.js"}
    },
    "node_modules/zod": {"version": "3.1.0", "integrity": "sha512-AA=="}
  }
}
`
)

func TestParseRecord(t *testing.T) {
	pkg := func(members string) string {
		return `{"lockfileVersion":3,"packages":{"node_modules/a":{` + members + `}}}`
	}
	integrity := `"integrity":"sha512-` + base64A + `"`
	for _, tt := range []struct {
		name, record string
		want         string // a purl, or a part of the error
	}{
		{"good", pkg(`"version":"1.0.0+b",` + integrity), "pkg:npm/a@1.0.0%2Bb"},
		{"version 2", strings.Replace(pkg(`"version":"1",`+integrity), ":3", ":2", 1), "pkg:npm/a@1"},
		{"named alike", pkg(`"name":"a","link":false,"version":"1",` + integrity), "pkg:npm/a@1"},
		{"version 1", strings.Replace(pkg(`"version":"1",`+integrity), ":3", ":1", 1), `lockfileVersion is "1"`},
		{"without a version of the file", `{"packages":{"node_modules/a":{"version":"1",` + integrity + `}}}`, `lockfileVersion is ""`},
		{"an alias", pkg(`"name":"b","version":"1",` + integrity), "another package under the name"},
		{"a link", pkg(`"link":true,"version":"1",` + integrity), "it is a link"},
		{"without a version", pkg(integrity), "there is no version"},
		{"without integrity", pkg(`"version":"1"`), "no digest of SHA-256"},
		{"weak", pkg(`"version":"1","integrity":"sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="`), "no digest of SHA-256"},
		{"nested", `{"lockfileVersion":3,"packages":{"node_modules/b/node_modules/a":{"version":"1",` + integrity + `}}}`, "the package is not in it"},
		{"empty", `{"lockfileVersion":3,"packages":{}}`, "the package is not in it"},
		{"without packages", `{"lockfileVersion":3}`, "the package is not in it"},
		{"twice", `{"lockfileVersion":3,"packages":{"node_modules/a":{},"node_modules\/a":{}}}`, "duplicate"},
		{"integrity twice", pkg(`"version":"1",` + integrity + `,` + integrity), "duplicate"},
		{"packages of another type", `{"lockfileVersion":3,"packages":[]}`, "object"},
		{"version of another type", pkg(`"version":1,` + integrity), "string"},
		{"lockfileVersion of another type", `{"lockfileVersion":"3"}`, "number"},
		{"array", `[]`, "object"},
		{"nothing", ``, ""},
		{"more behind it", pkg(`"version":"1",`+integrity) + "{}", ""},
		{"deep", strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "too_deep"},
		{"not UTF-8", pkg(`"version":"1` + "\xff" + `",` + integrity), "invalid_utf8"},
	} {
		a, err := parseRecord([]byte(tt.record), "a")
		if strings.HasPrefix(tt.want, "pkg:") {
			if err != nil || a.PURL != tt.want || a.File != "" || len(a.Digest) != 1 || a.Digest["sha512"] != goodHex {
				t.Errorf("%s: %v, %v", tt.name, a, err)
			}
			continue
		}
		t.Run(tt.name, func(t *testing.T) { wantError(t, err, tt.want) })
		if a.PURL != "" || a.Digest != nil {
			t.Errorf("%s: %v with an error", tt.name, a)
		}
	}
}

func TestParseIntegrity(t *testing.T) {
	for text, want := range map[string]string{
		"sha512-" + base64A: "sha512",
		"sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA= sha512-" + base64A + "\n":              "sha512",
		"sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= sha512-" + base64A:   "sha256 sha512",
		"sha384-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": "sha384",
		"":                      "",
		"sha512":                "",
		"sha512-":               "",
		"sha512-AAAA":           "",
		"SHA512-" + base64A:     "",
		"sha512-" + base64A[1:]: "",
		"sha512-" + strings.TrimRight(base64A, "="):             "",
		"sha512-" + base64A + "?opt":                            "",
		"sha512-" + base64A + " sha512-" + base64A:              "",
		"sha512-" + strings.Replace(base64A, "Pw==", "Px==", 1): "", // bits that do not count
		"md5-AAAA": "",
	} {
		digest, err := ParseIntegrity(text)
		if got := strings.Join(slices.Sorted(maps.Keys(digest)), " "); got != want || (err == nil) != (want != "") {
			t.Errorf("ParseIntegrity(%q) = %v, %v", text, digest, err)
		}
	}
}

// Whatever byte of a record is changed: it is refused, or says something about
// the same package that a lockfile can hold.
func TestMangle(t *testing.T) {
	same, refused := 0, 0
	try := func(record string) {
		a, err := parseRecord([]byte(record), "@acme/weather-mcp")
		switch {
		case err != nil:
			refused++
		case !strings.HasPrefix(a.PURL, "pkg:npm/%40acme/weather-mcp@") || len(a.Digest) != 1 || a.Check() != nil:
			t.Errorf("%s\nis %v", record, a)
		case a.Digest["sha512"] == goodHex:
			same++
		}
	}
	for i := range good {
		for _, c := range []byte{good[i] ^ 1, good[i] ^ 0x20, good[i] ^ 0x80, 0, ' ', '"', '\\', 'A', '0', '}', ','} {
			try(good[:i] + string([]byte{c}) + good[i+1:])
		}
		try(good[:i] + good[i+1:])
		try(good[:i])
	}
	if same == 0 || refused == 0 {
		t.Errorf("%d mangled records say the same, %d are refused", same, refused)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(good), "@acme/weather-mcp")
	f.Add([]byte(`{"lockfileVersion":2,"packages":{"node_modules/a":{"version":"1","integrity":"sha512-`+base64A+`"}}}`), "a")
	f.Fuzz(func(t *testing.T, record []byte, name string) {
		a, err := parseRecord(record, name)
		if err == nil && (a.Check() != nil || a.File != "") || err != nil && (a.PURL != "" || a.Digest != nil) {
			t.Errorf("%v, %v", a, err)
		}
	})
}
