package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// State is what was seen of servers on this machine: the highest sequence of
// each signer, and the highest number of each one's revocation lists. It lies in
// $XDG_STATE_HOME/mcpsign/sequences, one file a server, and only grows, unless
// someone approves an older release.
type state struct{ dir string }

// A sight is what was seen of one server, as its file has it.
type sight struct {
	Version int        `json:"version"`
	Server  string     `json:"server"`
	Signers []mark     `json:"signers"`
	Lists   []listMark `json:"lists,omitempty"`
	Latest  time.Time  `json:"latest,omitzero"` // the latest verified time: the clock can't be earlier
}

// A mark is the highest sequence of a signer.
type mark struct {
	Signer   lock.Signer `json:"signer"`
	Sequence uint64      `json:"sequence"`
}

// A listMark is the highest number of a signer's revocation lists.
type listMark struct {
	Signer lock.Signer `json:"signer"`
	Number uint64      `json:"number"`
}

func (a *app) state() (*state, error) {
	base := a.Getenv("XDG_STATE_HOME")
	if base == "" && runtime.GOOS == "windows" {
		base = a.Getenv("LocalAppData")
	}
	if home := a.Getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(base) {
		return nil, fail(ExitTrust, errors.New("there is no place to keep the sequences that were seen"), "set XDG_STATE_HOME or HOME to an absolute path")
	}
	return &state{filepath.Join(base, "mcpsign", "sequences")}, nil
}

func (s *state) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}

// seen returns what was seen of a server on this machine.
func (a *app) seen(server string) (*sight, error) {
	s, err := a.state()
	if err != nil {
		return nil, err
	}
	return s.seen(server)
}

// seen returns what was seen of a server; nothing if it was never seen. A file
// that can't be read is an error: it is not as good as none.
func (s *state) seen(server string) (*sight, error) {
	seen := &sight{Version: 1, Server: server}
	data, err := readFile(s.path(server), maxTrustFile)
	if errors.Is(err, fs.ErrNotExist) {
		return seen, nil
	}
	if err == nil {
		seen = &sight{}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err = d.Decode(seen); err == nil && (seen.Version != 1 || seen.Server != server || d.More()) {
			err = errors.New("is of another version or server")
		}
	}
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("state %s: %w", s.path(server), err), "restore the file; without it an old release could pass for the newest")
	}
	return seen, nil
}

// fill puts what was seen into a request.
func (x *sight) fill(r *verify.Request) {
	r.Latest = x.Latest
	for _, m := range x.Signers {
		r.Seen = append(r.Seen, verify.HighWater{Signer: m.Signer, Sequence: m.Sequence})
	}
	for _, l := range x.Lists {
		r.SeenLists = append(r.SeenLists, verify.ListMark{Signer: l.Signer, Number: l.Number})
	}
}

// raise takes over what counted in a decision where it is higher, and reports
// whether anything was. With lower, the sequences of its signers are set back to
// what they are in it.
func (x *sight) raise(d *verify.Decision, lower bool) (changed bool) {
	for _, h := range d.HighWater() {
		i := slices.IndexFunc(x.Signers, func(m mark) bool { return m.Signer.Same(h.Signer) })
		if i < 0 {
			x.Signers, changed = append(x.Signers, mark(h)), true
		} else if x.Signers[i].Sequence < h.Sequence || lower && x.Signers[i].Sequence > h.Sequence {
			x.Signers[i].Sequence, changed = h.Sequence, true
		}
	}
	for _, l := range d.Lists() {
		i := slices.IndexFunc(x.Lists, func(m listMark) bool { return m.Signer.Same(l.Signer) })
		if i < 0 {
			x.Lists, changed = append(x.Lists, listMark(l)), true
		} else if x.Lists[i].Number < l.Number {
			x.Lists[i].Number, changed = l.Number, true
		}
	}
	if t := d.Latest(); t.After(x.Latest) {
		x.Latest, changed = t, true
	}
	return changed
}

// record stores what counted in a decision, if it is higher than before; with
// lower, as someone has approved an older release, if it is other.
func (s *state) record(server string, d *verify.Decision, lower bool) error {
	var known *failure
	if err := s.write(server, d, lower); errors.As(err, &known) {
		return err
	} else if err != nil {
		return fail(ExitTrust, fmt.Errorf("the sequence that was seen can't be stored: %w", err), "make the folder writable or set XDG_STATE_HOME to another one")
	}
	return nil
}

// write replaces what was seen of a server, while no other process does.
func (s *state) write(server string, d *verify.Decision, lower bool) error {
	seen, err := s.seen(server)
	if err != nil || !seen.raise(d, lower) {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return locked(filepath.Join(s.dir, "writer.lock"), func() error {
		seen, err := s.seen(server)
		if err != nil {
			return err
		}
		seen.raise(d, lower)
		data, err := json.MarshalIndent(seen, "", "  ")
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		return writeFile(root, filepath.Base(s.path(server)), append(data, '\n'), 0o600)
	})
}
