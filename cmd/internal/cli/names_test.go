package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// TestClosest has the names that are proposed in place of one that is not in the
// lockfile.
func TestClosest(t *testing.T) {
	for _, test := range []struct{ name, have, want string }{
		{"wether", "corp.internal/tools io.github.acme/weather", "io.github.acme/weather corp.internal/tools"},
		{"weather", "files io.github.acme/weather", "io.github.acme/weather files"},
		{"io.github.acme/wether", "io.github.acme/files io.github.acme/weather io.github.evil/weather", "io.github.acme/weather io.github.acme/files io.github.evil/weather"},
		{"a", "b c d e f g h", "b c d e f"},
		{"a", "", ""},
	} {
		s := &store{file: &lock.File{}, path: "l.json"}
		for _, name := range strings.Fields(test.have) {
			s.file.Servers = append(s.file.Servers, lock.Server{Name: name})
		}
		if got := strings.Join(s.closest(test.name), " "); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.name, test.have, got, test.want)
		}
	}
	s := &store{file: &lock.File{}, path: "l.json"}
	for i := range 20_000 {
		s.file.Servers = append(s.file.Servers, lock.Server{Name: fmt.Sprintf("%0250d", i)})
	}
	if text := s.notPinned(strings.Repeat("9", 250)); !strings.HasSuffix(text, " and 19995 more") || len(text) > 2000 {
		t.Errorf("of many servers: %s", text)
	}
}
