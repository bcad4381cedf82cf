package attest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpsign/mcpsign/lock"
)

// The bytes of a statement are fixed: a change here makes every statement that
// was ever signed another one.
func TestBytes(t *testing.T) {
	l := listing(t, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	const echo = `"digest":{"sha256":"a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},"name":"tool:echo"`
	for _, tt := range []struct {
		name      string
		release   Release
		predicate string
	}{
		{
			"required members",
			Release{Server: "acme/echo", Sequence: 1, Kinds: []lock.Kind{lock.Tool}, IssuedAt: issued},
			`{"complete":false,"issuedAt":"2026-11-30T12:00:00Z","kinds":["tool"],"recipe":"mcp-definition/v1","sequence":1,"server":{"name":"acme/echo"},"variant":""}`,
		},
		{
			"all members",
			full(),
			`{"artifacts":[{"digest":{"sha256":"bb","sha512":"aa"},"uri":"pkg:npm/%40acme/weather-mcp@1.4.2"},{"digest":{"sha256":"cc"}},{"uri":"oci://registry.example/weather"}],` +
				`"complete":true,"expiresAt":"2027-11-30T12:00:00Z","issuedAt":"2026-11-30T12:00:00Z","kinds":["instructions","prompt","resourceTemplate","tool"],` +
				`"protocolVersion":"2025-11-25","recipe":"mcp-definition/v1","sequence":1796040000,` +
				`"server":{"name":"io.github.acme/weather","origins":["https://weather.acme.example"],"purls":["pkg:npm/%40acme/weather-mcp@1.4.2","pkg:pypi/weather@1.4.2"],"version":"1.4.2"},` +
				`"source":{"digest":{"gitCommit":"3f9c2e1d"},"uri":"git+https://github.com/acme/weather-mcp"},"variant":"linux/amd64"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := `{"_type":"https://in-toto.io/Statement/v1","predicate":` + tt.predicate +
				`,"predicateType":"https://mcpsign.github.io/definitions/v1","subject":[{` + echo + `}]}`
			if got := string(define(t, l, tt.release).Bytes()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// Other people's libraries agree that it is an in-toto Statement v1 in RFC 8785
// form.
func TestOthers(t *testing.T) {
	st := define(t, listing(t, weather), full())
	form, err := jcs.Transform(st.Bytes())
	if err != nil || string(form) != string(st.Bytes()) {
		t.Errorf("the RFC 8785 form of gowebpki/jcs is\n%s, %v\nours\n%s", form, err, st.Bytes())
	}
	var other intoto.Statement
	if err := protojson.Unmarshal(st.Bytes(), &other); err != nil {
		t.Fatal(err)
	}
	if err := other.Validate(); err != nil {
		t.Error(err)
	}
	if got, want := len(other.GetSubject()), len(st.Subjects()); got != want {
		t.Errorf("%d subjects, want %d", got, want)
	}
	for i, s := range st.Subjects() {
		if o := other.GetSubject()[i]; o.GetName() != s.ID() || o.GetDigest()["sha256"] != s.Digest.Hex() {
			t.Errorf("subject %d is %v, want %s", i, o, s.ID())
		}
	}
}

// Definitions and Parse are a pair: with each optional member, without any, and
// with all of them.
func TestRoundTrip(t *testing.T) {
	edits := map[string]func(*Release){
		"required members":           func(*Release) {},
		"all members":                func(r *Release) { *r = full() },
		"version":                    func(r *Release) { r.Version = "1.0" },
		"version of another script":  func(r *Release) { r.Version = "一\u200b\"\\\u0001" },
		"purls":                      func(r *Release) { r.PURLs = []string{"pkg:npm/a@1"} },
		"origins":                    func(r *Release) { r.Origins = []string{"https://a.example", "https://b.example"} },
		"largest sequence":           func(r *Release) { r.Sequence = lock.MaxSequence },
		"smallest sequence":          func(r *Release) { r.Sequence = 1 },
		"variant":                    func(r *Release) { r.Variant = "zod 4" },
		"complete":                   func(r *Release) { r.Complete = true },
		"protocol version":           func(r *Release) { r.ProtocolVersion = "2026-07-28" },
		"expiry":                     func(r *Release) { r.ExpiresAt = issued.Add(time.Second) },
		"first and last time":        func(r *Release) { r.IssuedAt, r.ExpiresAt = time.Unix(0, 0), time.Unix(253402300799, 0) },
		"source with a URI":          func(r *Release) { r.Source = &Resource{URI: "git+https://a.example"} },
		"source with a digest":       func(r *Release) { r.Source = &Resource{Digest: map[string]string{"gitCommit": "abc"}} },
		"artifact":                   func(r *Release) { r.Artifacts = []Resource{{URI: "a"}} },
		"times of another time zone": func(r *Release) { r.IssuedAt = issued.In(time.FixedZone("", 3600)) },
	}
	l := listing(t, weather)
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			r := release(edit)
			st := define(t, l, r)
			again, err := Parse(st.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if string(again.Bytes()) != string(st.Bytes()) || !sameMeaning(st, again) {
				t.Errorf("Parse gives %+v, want %+v", again, st)
			}
			r.IssuedAt = r.IssuedAt.UTC()
			if !r.ExpiresAt.IsZero() {
				r.ExpiresAt = r.ExpiresAt.UTC()
			}
			if !reflect.DeepEqual(st.Release(), r) {
				t.Errorf("release = %+v\nwant      %+v", st.Release(), r)
			}
			wantSubjects(t, again, l)
		})
	}
}

// wantSubjects compares the subjects with the listing they are from.
func wantSubjects(t *testing.T, st *Statement, l *lock.Listing) {
	t.Helper()
	var want []Subject
	for _, d := range l.Definitions {
		want = append(want, Subject{d.Kind(), d.Name(), d.Digest()})
		s, ok := st.Find(d.Kind(), d.Name())
		if !ok || s.Digest != d.Digest() || s.ID() != d.ID() {
			t.Errorf("Find(%s) = %v, %v", d.ID(), s, ok)
		}
	}
	if got := st.Subjects(); !slices.Equal(got, want) {
		t.Errorf("subjects = %v, want %v", got, want)
	}
	for _, s := range []Subject{{}, {Kind: lock.Tool}, {Kind: lock.Prompt, Name: "get_forecast"}, {Kind: lock.Tool, Name: "get_forecas"}, {Kind: lock.Tool, Name: "zzz"}} {
		if found, ok := st.Find(s.Kind, s.Name); ok || found != (Subject{}) {
			t.Errorf("Find(%s) = %v, want nothing", s.ID(), found)
		}
	}
}

// The number of subjects that every verifier takes.
func TestMostSubjects(t *testing.T) {
	l := tools(t, MaxSubjects)
	st := define(t, l, release())
	wantSubjects(t, st, l)
	_, err := Definitions(tools(t, MaxSubjects+1), release())
	wantError(t, err, "1025 subjects, at most 1024")
}

// What a statement hands out does not change it, nor does what it was made of.
func TestIndependent(t *testing.T) {
	r := full()
	st := define(t, listing(t, weather), r)
	before := string(st.Bytes())
	st.Subjects()[0].Name = "other"
	r.PURLs[0], r.Kinds[0], r.Artifacts[0].Digest["sha256"], r.Source.URI = "other", "other", "other", "other"
	payload := []byte(before)
	again, err := Parse(payload)
	if err != nil {
		t.Fatal(err)
	}
	clear(payload)
	for _, s := range []*Statement{st, again} {
		if string(s.Bytes()) != before || s.Subjects()[0].Name == "other" || !reflect.DeepEqual(s.Release(), full()) {
			t.Errorf("the statement has changed: %+v", s)
		}
	}
}

// A listing put together out of order makes the same statement.
func TestOrder(t *testing.T) {
	l := listing(t, weather)
	want := define(t, l, release())
	slices.Reverse(l.Definitions)
	if got := define(t, l, release()); string(got.Bytes()) != string(want.Bytes()) {
		t.Errorf("got  %s\nwant %s", got.Bytes(), want.Bytes())
	}
	// Parse takes the subjects in any order, and keeps the bytes.
	text := func(s Subject) string {
		return `{"digest":{"sha256":"` + s.Digest.Hex() + `"},"name":"` + s.ID() + `"}`
	}
	first, second := text(want.Subjects()[0]), text(want.Subjects()[1])
	payload := strings.Replace(string(want.Bytes()), first+","+second, second+","+first, 1)
	got, err := Parse([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Bytes()) != payload || payload == string(want.Bytes()) || !sameMeaning(got, want) {
		t.Errorf("got %s", got.Bytes())
	}
}
