package verify

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	"google.golang.org/protobuf/encoding/protojson"
)

// maxTrustedRoots bounds the trusted roots under each of which a bundle is
// tried.
const maxTrustedRoots = 16

// addRoots adds trusted roots, of which a bundle needs one: the first to m, each
// of the others to a copy of it.
func (m *material) addRoots(files ...[]byte) error {
	own, n := m.tsas, 0
	for _, file := range files {
		for _, data := range splitRoots(file) {
			if n++; n > maxTrustedRoots {
				return &TrustError{fmt.Errorf("more than %d Sigstore trusted roots", maxTrustedRoots)}
			}
			root, err := parseRoot(data)
			if err != nil {
				return &TrustError{fmt.Errorf("trusted root: %w", err)}
			}
			one := m
			if m.sigstore != nil {
				other := *m
				one, other.others = &other, nil
				m.others = append(m.others, one)
			}
			one.sigstore, one.rootDigest = root, m.keep(data)
			one.tsas = slices.Concat(root.TimestampingAuthorities(), own)
		}
	}
	return nil
}

// splitRoots splits JSON lines. A root that is written over several lines is
// one.
func splitRoots(file []byte) [][]byte {
	if len(file) == 0 {
		return nil
	}
	var lines [][]byte
	for line := range bytes.SplitSeq(file, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	whole := func(line []byte) bool { return len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}' }
	if len(lines) < 2 || slices.ContainsFunc(lines, func(line []byte) bool { return !whole(line) }) {
		return [][]byte{file} // one, or the parser says where it is wrong
	}
	return lines
}

// parseRoot parses one trusted root. What this version does not know may
// restrict what the rest says, so it is an error.
func parseRoot(data []byte) (*sgroot.TrustedRoot, error) {
	var message prototrustroot.TrustedRoot
	err := protojson.Unmarshal(data, &message)
	var root *sgroot.TrustedRoot
	if err == nil {
		root, err = sgroot.NewTrustedRootFromProtobuf(&message)
	}
	if err != nil {
		text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
		return nil, &FormatError{Err: errors.New(shown(text)),
			Fix: "update mcpsign, or fetch the trusted root again: it has what this version does not know"}
	}
	return root, nil
}

// under returns d with the trusted root of m.
func (d *domain) under(m *material) *domain {
	own := *d.material
	own.sigstore, own.rootDigest = m.sigstore, m.rootDigest
	if !d.ownTSAs {
		own.tsas = m.tsas
	}
	other := *d
	other.material = &own
	return &other
}

// newPublisherMaterial returns the material of a publisher with trusted roots
// of its own: no others count, and no timestamp authorities but theirs.
func (m *material) newPublisherMaterial(b *namedPublisher) (*material, error) {
	own := *m
	own.sigstore, own.others, own.tsas, own.withoutLog = nil, nil, nil, b.withoutLog != ""
	if err := own.addRoots(b.rootData); err != nil {
		return nil, err
	}
	return &own, nil
}
