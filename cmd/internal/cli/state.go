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
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// State is what was seen of servers on this machine: the highest sequence of
// each signer with what was signed, and the highest number of each one's
// revocation lists, in $XDG_STATE_HOME/mcpsign/sequences, one file a sighting. It
// only grows, unless someone approves an older release. Beside it, in held, lie
// listings that wait for approval.
type state struct{ dir string }

const (
	sequencesDir = "sequences"
	heldDir      = "held"
)

// A sighting says what something was seen of. What rests on the trust that a
// lockfile brings along is that lockfile's alone: it says nothing to others.
type sighting struct {
	server   string
	lockfile string // absolute path; empty for what the user, a policy or the system vouches for
}

// sighting returns by what is remembered what was seen of a server. A lockfile is
// the same by whatever links it is reached.
func (s *store) sighting(server string, builtin bool) sighting {
	if !builtin {
		return sighting{server: server}
	}
	path, err := filepath.Abs(s.path)
	if err != nil { // the folder it is in is gone
		path = s.path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return sighting{server, path}
}

// A sight is what was seen of one server, as its file has it.
type sight struct {
	Version  int        `json:"version"`
	Server   string     `json:"server"`
	Lockfile string     `json:"lockfile,omitempty"`
	Signers  []mark     `json:"signers"`
	Lists    []listMark `json:"lists,omitempty"`
	Latest   time.Time  `json:"latest,omitzero"` // the latest verified time: the clock can't be earlier
}

// A mark is the highest sequence of a signer, and what was signed with it; or
// one that contradicts itself and was lowered since.
type mark struct {
	Signer   lock.Signer   `json:"signer"`
	Sequence uint64        `json:"sequence"`
	Surfaces []surfaceMark `json:"surfaces,omitempty"`
	Lowered  bool          `json:"lowered,omitempty"`
}

type surfaceMark struct {
	Variant string `json:"variant"`
	Digest  string `json:"digest"`
}

// A listMark is the highest number of a signer's revocation lists, and which
// statements had it. An earlier version did not store these.
type listMark struct {
	Signer     lock.Signer `json:"signer"`
	Number     uint64      `json:"number"`
	Statements []string    `json:"statements,omitempty"`
}

func (a *app) state() (*state, error) {
	base, err := a.baseFolder("XDG_STATE_HOME", "LocalAppData", ".local", "state")
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("can't tell where to keep the sequences that were seen: %w", err), "set XDG_STATE_HOME or HOME to an absolute path")
	}
	return &state{filepath.Join(base, "mcpsign")}, nil
}

// path returns the file of a server in one of the folders.
func (s *state) path(folder string, of sighting) string {
	name := of.server
	if of.lockfile != "" {
		name += "\x00" + of.lockfile
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, folder, hex.EncodeToString(sum[:])+".json")
}

// seen returns what was seen of a server on this machine. The lists and the time
// that the user's own trust vouched for count for a lockfile's as well. What was
// seen under the trust of the lockfile here counts for the user's own where a
// bare key signed it: that needs no root.
func (a *app) seen(of, here sighting) (*sight, error) {
	s, err := a.state()
	if err != nil {
		return nil, err
	}
	seen, err := s.seen(of)
	if err != nil {
		return nil, err
	}
	if of.lockfile == "" {
		theirs, err := s.seen(here)
		if err != nil {
			return nil, err
		}
		for _, m := range theirs.Signers {
			if m.Signer.Key != "" && !m.Lowered {
				seen.raiseSigner(m.highWater(), false)
			}
		}
		for _, l := range theirs.Lists {
			if l.Signer.Key != "" {
				seen.raiseList(l.mark())
			}
		}
		return seen, nil
	}
	own, err := s.seen(sighting{server: of.server})
	if err != nil {
		return nil, err
	}
	for _, l := range own.Lists {
		seen.raiseList(l.mark())
	}
	if own.Latest.After(seen.Latest) {
		seen.Latest = own.Latest
	}
	return seen, nil
}

// seen returns what was seen of a server; nothing if it was never seen. A file
// that can't be read is an error: it is not as good as none.
func (s *state) seen(of sighting) (*sight, error) {
	seen := &sight{Version: 1, Server: of.server, Lockfile: of.lockfile}
	path := s.path(sequencesDir, of)
	data, err := readRegular(path, maxTrustFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err = absent(path); err == nil {
			return seen, nil
		}
	}
	if err == nil {
		seen = &sight{}
		if err = decodeState(data, seen); err == nil && (seen.Version != 1 || seen.Server != of.server || seen.Lockfile != of.lockfile) {
			err = errors.New("is of another version or server")
		}
	}
	if err == nil {
		err = seen.check()
	}
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("state %s: %w", path, err), "restore the file; without it an old release could pass for the newest")
	}
	return seen, nil
}

// decodeState reads a file of the state, which has one value and no member that
// is not known.
func decodeState(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("has more than one value")
	}
	return nil
}

// check reports digests that are none.
func (x *sight) check() error {
	for _, m := range x.Signers {
		for _, s := range m.Surfaces {
			if _, err := lock.ParseDigest(s.Digest); err != nil {
				return err
			}
		}
	}
	for _, l := range x.Lists {
		for _, s := range l.Statements {
			if _, err := lock.ParseDigest(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill puts what was seen into a request.
func (x *sight) fill(r *verify.Request) {
	r.Latest = x.Latest
	for _, m := range x.Signers {
		r.Seen = append(r.Seen, m.highWater())
	}
	for _, l := range x.Lists {
		r.SeenLists = append(r.SeenLists, l.mark())
	}
}

func (m *mark) highWater() verify.HighWater {
	h := verify.HighWater{Signer: m.Signer, Sequence: m.Sequence, Lowered: m.Lowered}
	for _, s := range m.Surfaces {
		digest, _ := lock.ParseDigest(s.Digest) // checked when it was read
		h.Surfaces = append(h.Surfaces, verify.Surface{Variant: s.Variant, Digest: digest})
	}
	return h
}

func (l listMark) mark() verify.ListMark {
	m := verify.ListMark{Signer: l.Signer, Number: l.Number}
	for _, s := range l.Statements {
		digest, _ := lock.ParseDigest(s) // checked when it was read
		m.Statements = append(m.Statements, digest)
	}
	return m
}

// list returns the highest number that was seen of a signer's revocation lists,
// 0 if none was.
func (x *sight) list(signer lock.Signer) uint64 {
	var n uint64
	for _, l := range x.Lists {
		if l.Signer.Same(signer) {
			n = max(n, l.Number)
		}
	}
	return n
}

// news is what a decision says that is to be remembered.
type news struct {
	high   []verify.HighWater
	lists  []verify.ListMark
	latest time.Time
	lower  bool // someone has approved an older release: sequences are set back
}

// raise takes over news where they are higher, and reports whether any is.
func (x *sight) raise(n news) (changed bool) {
	for _, h := range n.high {
		changed = x.raiseSigner(h, n.lower) || changed
	}
	for _, l := range n.lists {
		changed = x.raiseList(l) || changed
	}
	if n.latest.After(x.Latest) {
		x.Latest, changed = n.latest, true
	}
	return changed
}

func (x *sight) raiseList(l verify.ListMark) (changed bool) {
	i := slices.IndexFunc(x.Lists, func(m listMark) bool { return m.Signer.Same(l.Signer) })
	switch {
	case i < 0:
		i, changed = len(x.Lists), true
		x.Lists = append(x.Lists, listMark{Signer: l.Signer, Number: l.Number})
	case x.Lists[i].Number < l.Number:
		x.Lists[i], changed = listMark{Signer: l.Signer, Number: l.Number}, true
	case x.Lists[i].Number > l.Number:
		return false
	}
	m := &x.Lists[i]
	if !changed && len(m.Statements) == 0 { // of an earlier version: which they were is not known
		return false
	}
	for _, s := range l.Statements {
		if s := s.String(); !slices.Contains(m.Statements, s) {
			m.Statements, changed = append(m.Statements, s), true
		}
	}
	return changed
}

func (x *sight) raiseSigner(h verify.HighWater, lower bool) (changed bool) {
	i := slices.IndexFunc(x.Signers, func(m mark) bool { return m.Signer.Same(h.Signer) && !m.Lowered })
	if i < 0 {
		i, x.Signers = len(x.Signers), append(x.Signers, mark{Signer: h.Signer})
	}
	m := &x.Signers[i]
	if m.Sequence < h.Sequence || lower && m.Sequence > h.Sequence {
		if m.highWater().Contradictory() {
			kept := *m
			kept.Lowered = true
			x.Signers = append(x.Signers, kept)
			m = &x.Signers[i]
		}
		m.Sequence, m.Surfaces, changed = h.Sequence, nil, true
	}
	if m.Sequence > h.Sequence {
		return changed
	}
	for _, s := range h.Surfaces {
		if s := (surfaceMark{s.Variant, s.Digest.String()}); !slices.Contains(m.Surfaces, s) {
			m.Surfaces, changed = append(m.Surfaces, s), true
		}
	}
	return changed
}

// record stores news, if they say more than is known.
func (s *state) record(of sighting, n news) error {
	var known *failure
	if err := s.write(of, n); errors.As(err, &known) {
		return err
	} else if err != nil {
		return fail(ExitTrust, fmt.Errorf("what was seen can't be stored: %w", err), "make the folder writable or set XDG_STATE_HOME to another one")
	}
	return nil
}

// write replaces what was seen of a server, while no other process does.
func (s *state) write(of sighting, n news) error {
	seen, err := s.seen(of)
	if err != nil || !seen.raise(n) {
		return err
	}
	return s.replace(s.path(sequencesDir, of), func() (any, error) {
		seen, err := s.seen(of)
		if err == nil {
			seen.raise(n)
		}
		return seen, err
	})
}

// replace writes what content returns into a file, while no other process
// writes into its folder.
func (s *state) replace(path string, content func() (any, error)) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return locked(filepath.Join(folder, "writer.lock"), func() error {
		value, err := content()
		if err != nil {
			return err
		}
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			return err
		}
		defer root.Close()
		return writeFile(root, filepath.Base(path), append(data, '\n'), 0o600)
	})
}
