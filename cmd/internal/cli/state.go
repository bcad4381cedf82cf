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

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// State is what was seen: the highest sequence of each signer of a server. It
// lies in $XDG_STATE_HOME/mcpsign/sequences, one file a server, and only grows.
type state struct{ dir string }

// A sequences is the file of one server.
type sequences struct {
	Version int             `json:"version"`
	Server  string          `json:"server"`
	Signers []signerAndHigh `json:"signers"`
}

type signerAndHigh struct {
	Signer   lock.Signer `json:"signer"`
	Sequence uint64      `json:"sequence"`
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
func (a *app) seen(server string) ([]verify.HighWater, error) {
	s, err := a.state()
	if err != nil {
		return nil, err
	}
	return s.seen(server)
}

// seen returns what was seen of a server; nothing if it was never seen. A file
// that can't be read is an error: it is not as good as none.
func (s *state) seen(server string) ([]verify.HighWater, error) {
	data, err := readFile(s.path(server), maxTrustFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var doc sequences
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err = d.Decode(&doc); err == nil && (doc.Version != 1 || doc.Server != server || d.More()) {
			err = errors.New("is of another version or server")
		}
	}
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("state %s: %w", s.path(server), err), "restore the file; without it an old release could pass for the newest")
	}
	var high []verify.HighWater
	for _, h := range doc.Signers {
		high = append(high, verify.HighWater{Signer: h.Signer, Sequence: h.Sequence})
	}
	return high, nil
}

// record stores what was seen, if it is higher than before.
func (s *state) record(server string, high []verify.HighWater) error {
	if len(high) == 0 {
		return nil
	}
	var known *failure
	if err := s.raise(server, high); errors.As(err, &known) {
		return err
	} else if err != nil {
		return fail(ExitTrust, fmt.Errorf("the sequence that was seen can't be stored: %w", err), "make the folder writable or set XDG_STATE_HOME to another one")
	}
	return nil
}

// lower sets back what was seen of the signers in high, to what high says.
// Someone has approved an older release.
func (s *state) lower(server string, high []verify.HighWater) error {
	err := s.write(server, func(seen []verify.HighWater) []verify.HighWater {
		for i, o := range seen {
			for _, h := range high {
				if o.Signer.Same(h.Signer) {
					seen[i].Sequence = h.Sequence
				}
			}
		}
		return merge(seen, high)
	})
	return fail(ExitTrust, err, "make the folder writable or set XDG_STATE_HOME to another one")
}

func (s *state) raise(server string, high []verify.HighWater) error {
	seen, err := s.seen(server)
	if err != nil || !raises(seen, high) {
		return err
	}
	return s.write(server, func(seen []verify.HighWater) []verify.HighWater { return merge(seen, high) })
}

// write replaces what was seen of a server, while no other process does.
func (s *state) write(server string, change func(seen []verify.HighWater) []verify.HighWater) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return locked(filepath.Join(s.dir, "writer.lock"), func() error {
		seen, err := s.seen(server)
		if err != nil {
			return err
		}
		doc := sequences{Version: 1, Server: server}
		for _, h := range change(seen) {
			doc.Signers = append(doc.Signers, signerAndHigh{h.Signer, h.Sequence})
		}
		data, err := json.MarshalIndent(doc, "", "  ")
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

// raises reports whether high has a sequence above those seen.
func raises(seen, high []verify.HighWater) bool {
	for _, h := range high {
		known := uint64(0)
		for _, o := range seen {
			if o.Signer.Same(h.Signer) {
				known = max(known, o.Sequence)
			}
		}
		if h.Sequence > known {
			return true
		}
	}
	return false
}

// merge returns the highest sequence of each signer.
func merge(seen, high []verify.HighWater) []verify.HighWater {
	for _, h := range high {
		known := false
		for i, o := range seen {
			if o.Signer.Same(h.Signer) {
				known = true
				seen[i].Sequence = max(o.Sequence, h.Sequence)
			}
		}
		if !known {
			seen = append(seen, h)
		}
	}
	return seen
}
