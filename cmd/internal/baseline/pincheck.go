package baseline

import (
	"crypto/sha256"
	"fmt"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// maxDefinition bounds a pinned definition with the white space of the file, in bytes: a listing has none above 1 MiB.
const maxDefinition = 4 << 20

// pinCheckMembers are those of a definition as mcp-tool-pin-check keeps it, the last only if it was there.
func pinCheckMembers() []string { return []string{"name", "description", "inputSchema", "annotations"} }

// readPinCheck reads a lockfile of mcp-tool-pin-check.
func (b *Baseline) readPinCheck(r *canonical.Reader) error {
	s := Server{kinds: []lock.Kind{lock.Tool}}
	seen := map[string]bool{}
	err := r.Object(func(name string) (err error) {
		seen[name] = true
		switch name {
		case "lockfile_version":
			if b.Version, err = r.Number(); err == nil && b.Version != "1" {
				err = fmt.Errorf("lockfile_version %.20s is not known: want 1", b.Version)
			}
		case "pinned_at":
			_, err = r.String()
		case "source":
			s.Name, err = r.String()
		case "tools":
			err = r.Array(func(i int) error {
				if i == lock.MaxDefinitions {
					return tooMany()
				}
				p, err := readPinCheckTool(r)
				s.Pins = append(s.Pins, p)
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err == nil {
		err = required(seen, "lockfile_version", "tools")
	}
	b.Servers = []Server{s}
	return err
}

// readPinCheckTool reads an entry of tools and checks its hash.
func readPinCheckTool(r *canonical.Reader) (Pin, error) {
	var name, hash string
	var raw []byte
	err := r.Object(func(member string) (err error) {
		switch member {
		case "name":
			name, err = r.String()
		case "sha256":
			hash, err = r.String()
		case "definition":
			raw, err = r.Raw()
		default:
			err = r.Unknown(member)
		}
		return err
	})
	if err != nil {
		return Pin{}, err
	}
	p := Pin{Kind: lock.Tool, Name: name}
	if p.compare, err = pinCheckCompare(name, hash, raw); err != nil {
		return Pin{}, fmt.Errorf("tool %s: %w", lock.Visible(name), err)
	}
	return p, nil
}

// pinCheckCompare checks the definition that stands beside a hash and returns how a listed one compares with it.
func pinCheckCompare(name, hash string, raw []byte) (func(members) ([]string, error), error) {
	if name == "" || raw == nil {
		return nil, fmt.Errorf("has no name or no definition")
	}
	if len(raw) > maxDefinition {
		return nil, fmt.Errorf("its definition has more than %d bytes", maxDefinition)
	}
	want, err := lock.ParseHex(hash)
	if err != nil {
		return nil, err
	}
	spelled, err := respell(nil, raw, python())
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	if got := lock.Digest(sha256.Sum256(spelled)); got != want {
		return nil, fmt.Errorf("the definition has the hash %s, not %s", got.Hex(), want.Hex())
	}
	pinned, outOfRange, err := pinCheckDefinition(raw)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	if n, err := pinned.text("name"); err != nil || n != name {
		return nil, fmt.Errorf("its definition has another name")
	}
	return func(ms members) ([]string, error) {
		if outOfRange != nil {
			return nil, fmt.Errorf("what is pinned can't be compared: %w", outOfRange)
		}
		return pinned.pinCheckDiff(ms)
	}, nil
}

// pinCheckDefinition reads the members of a pinned definition. A number that no digest covers is no fault of the file:
// it comes back as outOfRange, and without the members.
func pinCheckDefinition(raw []byte) (pinned members, outOfRange, err error) {
	pinned = members{}
	r := canonical.NewReader(raw)
	err = r.Object(func(member string) error {
		value, err := r.Raw()
		if err != nil {
			return err
		}
		open := byte('{')
		switch member {
		case "name", "description":
			open = '"'
		case "inputSchema", "annotations":
		default:
			return r.Unknown(member)
		}
		if value[0] != open {
			return fmt.Errorf("%s is not what it should be", member)
		}
		form, err := canonical.Append(nil, value)
		if err != nil {
			outOfRange = fmt.Errorf("%s: %w", member, err)
		}
		pinned[member] = form
		return nil
	})
	if err == nil {
		for _, member := range pinCheckMembers()[:3] {
			if pinned[member] == nil && outOfRange == nil {
				return nil, nil, fmt.Errorf("has no %s", member)
			}
		}
	}
	return pinned, outOfRange, err
}

// pinCheckDiff names the members in which a listed definition, reduced as the tool does, differs from a pinned one.
func (ms members) pinCheckDiff(listed members) ([]string, error) {
	description, err := listed.text("description")
	if err != nil {
		return nil, err
	}
	schema, err := listed.object("inputSchema")
	if err != nil {
		return nil, err
	}
	reduced := members{"name": listed["name"], "description": canonical.AppendString(nil, description), "inputSchema": schema}
	if listed.present("annotations") {
		if reduced["annotations"], err = listed.object("annotations"); err != nil {
			return nil, err
		}
	}
	var differ []string
	for _, member := range pinCheckMembers() {
		if !same(ms[member], reduced[member]) {
			differ = append(differ, member)
		}
	}
	return differ, nil
}
