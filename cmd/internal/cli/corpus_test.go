package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// corpus returns a folder of real listings that lies beside the module. A test
// without it is skipped.
func corpus(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../../../../shared/corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there is no folder with real listings: %s", dir)
	}
	return dir
}

// listingFiles returns the files of one listing: a file by itself, or those of
// a folder.
func listingFiles(t *testing.T, path string) []string {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}
	}
	files, err := filepath.Glob(filepath.Join(path, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "digests.json" })
	if len(files) == 0 {
		t.Fatalf("%s has no files of a listing", path)
	}
	return files
}

// parse reads the JSON that a command printed.
func parse[T any](t testing.TB, r result) (doc T) {
	t.Helper()
	_, rest, ok := strings.Cut(r.stdout, "{\n  \"command\": ")
	if !ok {
		t.Fatalf("the output does not begin with the command\n%s%s", r.stdout, r.stderr)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	d := json.NewDecoder(strings.NewReader("{" + rest))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in the output\n%s%s", err, r.stdout, r.stderr)
	}
	return doc
}

// TestCorpus signs, verifies, locks and checks real listings.
func TestCorpus(t *testing.T) {
	dev := corpus(t, "dev")
	entries, err := os.ReadDir(dev)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	key, public := filepath.Join(dir, "acme.key"), filepath.Join(dir, "acme.pub")
	private, pub := keyFiles()
	write(t, dir, map[string]string{"acme.key": private, "acme.pub": pub})
	u := newUser(t)
	servers, definitions := 0, 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".digests.json") {
			continue
		}
		files := listingFiles(t, filepath.Join(dev, e.Name()))
		servers++
		name := fmt.Sprintf("corpus/%d", servers)
		file := filepath.Join(dir, fmt.Sprintf("%d.lock.json", servers))
		source := func(args ...string) []string { return append(args, files...) }

		digests := parse[digestDoc](t, u.must(ExitYes, source("digest", "-o", "json")...))
		definitions += len(digests.Definitions)
		bundle := filepath.Join(dir, fmt.Sprintf("%d.sigstore.json", servers))
		u.must(ExitYes, source("sign", "--key", key, "--sequence", "1", "--bundle", bundle, name)...)
		u.must(ExitYes, source("verify", "--key", public, "--bundle", bundle, name)...)
		locked := parse[reportDoc](t, u.must(ExitYes, source("lock", "-o", "json", "--lock", file, "--key", public, "--bundle", bundle, name)...))
		checked := parse[reportDoc](t, u.must(ExitYes, source("check", "-o", "json", "--lock", file, name)...))
		u.must(ExitYes, "verify", "--require-signed", "--lock", file)
		for _, doc := range []reportDoc{locked, checked} {
			if len(doc.Definitions) != len(digests.Definitions) {
				t.Errorf("%s: %d definitions were decided, it has %d", e.Name(), len(doc.Definitions), len(digests.Definitions))
			}
		}
		for i, d := range checked.Definitions {
			if want := digests.Definitions[i]; d.Digest != want.Digest || d.Pinned != want.Digest || d.Name != want.Name || d.Verdict != "allow" {
				t.Errorf("%s: %+v, want %+v", e.Name(), d, want)
			}
		}
	}
	t.Logf("%d servers, %d definitions", servers, definitions)
	if servers == 0 || definitions < servers {
		t.Errorf("%d servers, %d definitions", servers, definitions)
	}
}

// A drift is what changes.json says of two versions of a server's tools.
type drift struct {
	From, To        string
	Added, Removed  []string
	DescriptionOnly []string
	TitleOnly       []string `json:"annotationsTitleOnly"`
	SchemaText      []string `json:"schemaTextOnly"`
	Schema          []string `json:"schemaStructural"`
	DollarSchema    []string `json:"dollarSchemaOnly"`
	Other           []string
}

// changed returns the names of the tools that changed in more than _meta. In
// changes.json some have a list of members behind them.
func (d *drift) changed() []string {
	var names []string
	for _, n := range slices.Concat(d.DescriptionOnly, d.TitleOnly, d.SchemaText, d.Schema, d.DollarSchema, d.Other) {
		name, _, _ := strings.Cut(n, "[")
		names = append(names, name)
	}
	return names
}

// TestDrift checks each version of a real server against a lock of the version
// before.
func TestDrift(t *testing.T) {
	dir := corpus(t, "drift")
	all, err := filepath.Glob(filepath.Join(dir, "*", "changes.json"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%s has no changes.json: %v", dir, err)
	}
	pairs := map[ExitCode]int{}
	for _, path := range all {
		var drifts []drift
		if err := json.Unmarshal([]byte(readText(t, path)), &drifts); err != nil {
			t.Fatal(err)
		}
		for _, d := range drifts {
			server := filepath.Dir(path)
			t.Run(filepath.Base(server)+"_"+d.To, func(t *testing.T) {
				u, file := newUser(t), filepath.Join(t.TempDir(), "mcpsign.lock.json")
				from, to := listingFiles(t, filepath.Join(server, d.From)), listingFiles(t, filepath.Join(server, d.To))
				u.must(ExitYes, append([]string{"lock", "--lock", file, "drift"}, from...)...)
				r := u.run(append([]string{"check", "-o", "json", "--lock", file, "drift"}, to...)...)
				pairs[checkDrift(t, d, r)]++
			})
		}
	}
	t.Logf("pairs of versions by exit code: %v", pairs)
	if pairs[ExitYes] == 0 || pairs[ExitDrift] == 0 || pairs[ExitUnpinned] == 0 {
		t.Errorf("pairs of versions by exit code: %v, want some of 0, 10 and 11", pairs)
	}
}

// checkDrift compares what check said with changes.json and returns its code.
// That file is about tools; other kinds may differ as well.
func checkDrift(t *testing.T, d drift, r result) ExitCode {
	found := map[verify.Reason][]string{}
	codes := []ExitCode{ExitYes}
	doc := parse[reportDoc](t, r)
	explained := map[string]bool{}
	for _, c := range doc.Changes {
		explained[lock.ID(c.Kind, c.Name)] = len(c.Fields) > 0
	}
	for _, x := range doc.Definitions {
		if x.Verdict == "allow" {
			continue
		}
		if len(x.Reasons) != 1 {
			t.Errorf("%s has the reasons %v, want one", x.Name, x.Reasons)
		}
		if x.Kind == lock.Tool {
			found[x.Reasons[0]] = append(found[x.Reasons[0]], x.Name)
		} else {
			codes = append(codes, reasonCode(x.Reasons[0]))
		}
		if x.Reasons[0] == verify.Drift && !explained[lock.ID(x.Kind, x.Name)] {
			t.Errorf("%s has changed, and nothing says where", x.Name)
		}
	}
	for reason, names := range map[verify.Reason][]string{verify.NotLocked: d.Added, verify.Missing: d.Removed, verify.Drift: d.changed()} {
		names = slices.Sorted(slices.Values(names))
		if !slices.Equal(found[reason], names) {
			t.Errorf("%s: %q, want %q", reason, found[reason], names)
		}
		if len(names) > 0 {
			codes = append(codes, reasonCode(reason))
		}
	}
	if want := worst(codes...); r.code != want {
		t.Errorf("exit %d, want %d", r.code, want)
	}
	return r.code
}

// TestVaryingServers diffs two starts of servers that list something else each
// time: the message names the member, and what it holds.
func TestVaryingServers(t *testing.T) {
	for name, want := range map[string]string{
		"nondeterministic__currents-clock-in-default": "/default  differs by a time, which may be another at every start",
		"nondeterministic__figma-cwd-in-description":  "at /description  high  differs by a path, which may be another at every start",
	} {
		dir := filepath.Join(corpus(t, "drift"), name)
		a, b := listingFiles(t, filepath.Join(dir, "a")), listingFiles(t, filepath.Join(dir, "b"))
		u, file := newUser(t), filepath.Join(t.TempDir(), "mcpsign.lock.json")
		u.must(ExitYes, append([]string{"lock", "--lock", file, "varies"}, a...)...)
		r := u.must(ExitDrift, append([]string{"diff", "--lock", file, "varies"}, b...)...)
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%s: nothing says %q\n%s", name, want, r.stdout)
		}
	}
}

// TestEveryByte changes each byte of a listing. Against a lock that is a no,
// unless the digests are provably the same.
func TestEveryByte(t *testing.T) {
	const listing = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"w","version":"1"},"instructions":"Ask \u0061."}}
{"result":{"tools":[{"name":"get_forecast","description":"For a place.","inputSchema":{"type":"object","maximum":1e2, "x":-0.5},"_meta":{"n":1}}, {"name":"é"}]}}
{"result":{"prompts":[{"name":"plan","arguments":[{"name":"day","required":true}]}],"resourceTemplates":[{"uriTemplate":"w://{place}","name":"w","size":null}]}}
`
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	write(t, ".", map[string]string{"listing.json": listing, "acme.key": private, "acme.pub": public})
	u := newUser(t)
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "acme.key", "--sequence", "1", "--bundle", "b.json")
	u.must(ExitYes, "lock", "weather", "listing.json", "--key", "acme.pub", "--bundle", "b.json")
	want := u.must(ExitYes, "digest", "listing.json").stdout
	yes, no := 0, map[ExitCode]int{}
	for i := range len(listing) {
		for _, flip := range []byte{0x01, 0x20, 0x80} {
			changed := []byte(listing)
			changed[i] ^= flip
			u.stdin = string(changed)
			r := u.run("check", "weather", "-")
			if r.code != ExitYes {
				no[r.code]++
				if countLines(r.stderr, "error: ") != 1 {
					t.Fatalf("byte %d: standard error has not one error:\n%s", i, r.stderr)
				}
				continue
			}
			yes++
			if d := u.run("digest", "-"); d.code != ExitYes || d.stdout != want {
				t.Errorf("byte %d, %q for %q, is a yes, and the digests differ:\n%s%s", i, changed[i], listing[i], d.stdout, d.stderr)
			}
		}
	}
	t.Logf("%d changes without effect, others by exit code: %v", yes, no)
	if yes == 0 || no[ExitDrift] == 0 || no[ExitServer] == 0 {
		t.Errorf("%d changes without effect, others by exit code: %v; want some of each", yes, no)
	}
	for code := range no {
		if !slices.Contains([]ExitCode{ExitServer, ExitDrift, ExitUnpinned, ExitNoDigest}, code) {
			t.Errorf("%d changes end with exit code %d", no[code], code)
		}
	}
}

// e2eVariable names the folder with the commands of real servers.
const e2eVariable = "MCPSIGN_E2E_SERVERS"

// TestRealServers locks and checks real servers over stdio. What they list has
// the digests of the recorded listings of the same versions, where there are any.
func TestRealServers(t *testing.T) {
	bin := os.Getenv(e2eVariable)
	if bin == "" {
		t.Skipf("%s names no folder with the commands of real servers", e2eVariable)
	}
	for name, args := range map[string][]string{
		"everything": nil, "filesystem": {t.TempDir()}, "memory": nil, "sequential-thinking": nil,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			command := append([]string{"--", filepath.Join(bin, "mcp-server-"+name)}, args...)
			live := u.must(ExitYes, append([]string{"digest", "-o", "json"}, command...)...)
			t.Logf("%d definitions", len(parse[digestDoc](t, live).Definitions))
			file := filepath.Join(t.TempDir(), "mcpsign.lock.json")
			u.must(ExitYes, append([]string{"lock", "--lock", file, "e2e/" + name}, command...)...)
			u.must(ExitYes, "check", "--lock", file, name, "--run")
			u.must(ExitYes, "diff", "--lock", file, name, "--run")
			t.Run("recorded", func(t *testing.T) {
				recorded := listingFiles(t, filepath.Join(corpus(t, "dev"), "modelcontextprotocol__server-"+name+"@2026.8.31"))
				if want := u.must(ExitYes, append([]string{"digest", "-o", "json"}, recorded...)...); live.stdout != want.stdout {
					t.Errorf("the server's digests:\n%s\nthose recorded:\n%s", live.stdout, want.stdout)
				}
				u.must(ExitYes, append([]string{"check", "--lock", file, name}, recorded...)...)
			})
		})
	}
}

// UnmarshalText implements encoding.TextUnmarshaler: tests read reports.
func (j *jsonText) UnmarshalText(text []byte) error {
	*j = bytes.Clone(text)
	return nil
}
