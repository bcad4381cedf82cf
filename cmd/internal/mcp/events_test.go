package mcp

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEvents(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"a"}},
		{"one space is no data", "data:  a \n\ndata:b\n\ndata:\tc\n\n", []string{" a ", "b", "\tc"}},
		{"lines", "data: a\ndata\ndata:\ndata: b\n\n", []string{"a\n\n\nb"}},
		{"ends in an empty line", "data: a\ndata:\n\n", []string{"a\n"}},
		{"priming", "id: 1\ndata:\n\ndata: a\n\n", []string{"a"}},
		{"no data", "event: message\nid: 3\n\ndata: a\n\n", []string{"a"}},
		{"CR", "data: a\r\rdata: b\rdata: c\r\r", []string{"a", "b\nc"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", []string{"a", "b\nc"}},
		{"mixed", "data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", []string{"a", "b", "c"}},
		{"comments", ": a\n:\n\n:data: b\ndata: a\n: c\n\n", []string{"a"}},
		{"types", "event: message\ndata: a\n\nevent: endpoint\ndata: b\n\nevent:\ndata: c\n\nevent\ndata: d\n\nevent: Message\ndata: e\n\n", []string{"a", "c", "d"}},
		{"the last type counts", "event: ping\nevent: message\ndata: a\n\n", []string{"a"}},
		{"other fields", "retry: 1\nDATA: x\ndata2: y\n data: z\ndata: a\n\n", []string{"a"}},
		{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"a"}},
		{"unfinished", "data: a\n\ndata: b\n", []string{"a"}},
		{"broken off", "data: a\n\ndata: b", []string{"a"}},
		{"a colon in the data", "data: {\"a\": 1}\n\n", []string{`{"a": 1}`}},
	}
	for _, test := range tests {
		for how, r := range map[string]io.Reader{
			"at once":      strings.NewReader(test.stream),
			"byte by byte": iotest.OneByteReader(strings.NewReader(test.stream)),
			"with the end": iotest.DataErrReader(strings.NewReader(test.stream)),
		} {
			e := newEvents(r, 1000)
			var got []string
			for {
				data, err := e.next()
				if err != nil {
					if err != io.EOF {
						t.Errorf("%s, %s: %v", test.name, how, err)
					}
					break
				}
				got = append(got, string(data))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: got %q, want %q", test.name, how, got, test.want)
			}
		}
	}
}

// TestEventsDoNotWait has the last CR of an event end it: what follows may never come.
func TestEventsDoNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "data: a\r\r")
	if data, err := newEvents(r, 10).next(); string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "\ufeffdata:a\r\rid:1\r\ndata\r\n\r\n", ":x\nevent: y\ndata: z\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		read := func(r io.Reader) (all []string) {
			e := newEvents(r, 100)
			for {
				data, err := e.next()
				if err != nil {
					if err != io.EOF && !errors.As(err, new(*excessError)) {
						t.Fatal(err)
					}
					return all
				}
				if len(data) == 0 || len(data) > 100 || strings.ContainsRune(string(data), '\r') {
					t.Errorf("event %q", data)
				}
				all = append(all, string(data))
			}
		}
		// The spelling of line ends and the pieces in which a stream comes are without effect.
		want := read(strings.NewReader(s))
		if got := read(iotest.OneByteReader(strings.NewReader(s))); !slices.Equal(got, want) {
			t.Errorf("byte by byte %q, at once %q", got, want)
		}
		lf := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
		for _, end := range []string{"\n", "\r", "\r\n"} {
			if got := read(strings.NewReader(strings.ReplaceAll(lf, "\n", end))); !slices.Equal(got, want) {
				t.Errorf("with %q %q, as given %q", end, got, want)
			}
		}
	})
}
