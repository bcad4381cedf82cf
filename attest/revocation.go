package attest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A Revocation is a list of definitions and statements that its signer no
// longer wants to count; the package comment has the meaning of each member.
type Revocation struct {
	Servers    []string  // names, sorted, 1 to 1,024; see lock.CheckName
	Number     uint64    // 0 < n < 2^53
	IssuedAt   time.Time // whole seconds
	NextUpdate time.Time // required, likewise
	Entries    []Revoked // at most 1,024, in any order; a statement has them sorted
}

// A Revoked is a definition or a statement that is revoked: either Definition
// or Statement is zero.
type Revoked struct {
	Definition Subject
	Statement  lock.Digest // SHA-256 of the statement's bytes; see Statement.Digest
	Reason     string      // for people, at most 4,096 bytes; may be empty
}

// revocation is the content of a revocation.
type revocation struct{ said Revocation }

// Names of subjects that are no definitions.
const (
	revokedStatement = "statement:" // and the digest in hexadecimal digits
	revokesNothing   = "nothing:"
)

// Revoke makes the statement that is the list r. A list without entries revokes
// nothing, and is a list all the same: a first one that says when to expect the
// next.
func Revoke(r Revocation) (*Statement, error) {
	r.Entries = slices.Clone(r.Entries)
	slices.SortFunc(r.Entries, compareRevoked)
	return makeOwn(&revocation{r})
}

func compareRevoked(a, b Revoked) int {
	return cmp.Or(strings.Compare(a.name(), b.name()), a.digest().Compare(b.digest()))
}

// name returns the name of the subject that stands for x.
func (x Revoked) name() string {
	if x.Statement.IsZero() {
		return x.Definition.ID()
	}
	return revokedStatement + x.Statement.Hex()
}

func (x Revoked) digest() lock.Digest {
	if x.Statement.IsZero() {
		return x.Definition.Digest
	}
	return x.Statement
}

// Revocation returns the list, its entries sorted, and whether s is one. Who
// signed it, whether they may, and whether a list of a higher number is known
// is for the caller to check.
func (s *Statement) Revocation() (Revocation, bool) {
	c, ok := s.content.(*revocation)
	if !ok {
		return Revocation{}, false
	}
	r := c.said
	r.Servers, r.Entries = slices.Clone(r.Servers), slices.Clone(r.Entries)
	return r, true
}

// Revokes reports whether s is a list about the server that revokes the
// definition, digest included, and returns the reason given.
func (s *Statement) Revokes(server string, definition Subject) (reason string, revoked bool) {
	return s.revokes(server, Revoked{Definition: definition})
}

// RevokesStatement reports whether s is a list about the server that revokes
// the statement of that digest, and returns the reason given.
func (s *Statement) RevokesStatement(server string, statement lock.Digest) (reason string, revoked bool) {
	return s.revokes(server, Revoked{Statement: statement})
}

func (s *Statement) revokes(server string, x Revoked) (reason string, revoked bool) {
	c, ok := s.content.(*revocation)
	if !ok {
		return "", false
	}
	if _, named := slices.BinarySearch(c.said.Servers, server); !named {
		return "", false
	}
	i, found := slices.BinarySearchFunc(c.said.Entries, x, compareRevoked)
	if !found {
		return "", false
	}
	return c.said.Entries[i].Reason, true
}

func (c *revocation) predicateType() string { return RevocationType }

func (c *revocation) list() []subject {
	list := make([]subject, len(c.said.Entries))
	for i, x := range c.said.Entries {
		list[i] = subject{x.name(), x.digest(), x.Reason}
	}
	if len(list) == 0 {
		list = append(list, subject{name: revokesNothing, digest: sha256.Sum256(nil)})
	}
	return list
}

func (c *revocation) set(list []subject) error {
	if len(list) == 0 {
		return errors.New("there are no subjects")
	}
	if slices.Equal(list, (&revocation{}).list()) {
		return nil
	}
	for _, s := range list {
		x := Revoked{Reason: s.reason}
		if hex, ok := strings.CutPrefix(s.name, revokedStatement); ok {
			if x.Statement = s.digest; hex != s.digest.Hex() {
				return fmt.Errorf("subject %s has another digest than its name", shown(s.name))
			}
		} else {
			k, name, err := lock.ParseID(s.name)
			if err != nil {
				return err
			}
			x.Definition = Subject{k, name, s.digest}
		}
		c.said.Entries = append(c.said.Entries, x)
	}
	return nil
}

func (c *revocation) check() error {
	r := &c.said
	switch {
	case len(r.Servers) > MaxSubjects || !strictlySorted(r.Servers, func(s string) string { return s }):
		return fmt.Errorf("servers are missing, not sorted, there twice, or more than %d", MaxSubjects)
	case r.Number == 0 || r.Number > lock.MaxSequence:
		return fmt.Errorf("number %d is not between 1 and 2^53-1", r.Number)
	case len(r.Entries) > MaxSubjects:
		return fmt.Errorf("there are %d subjects, at most %d can be signed in one statement", len(r.Entries), MaxSubjects)
	}
	for _, name := range r.Servers {
		if err := lock.CheckName(name); err != nil {
			return err
		}
	}
	if err := checkIssued(r.IssuedAt); err != nil {
		return err
	}
	if err := checkEnd("nextUpdate", r.IssuedAt, r.NextUpdate); err != nil {
		return err
	}
	for i, x := range r.Entries {
		if err := x.check(); err != nil {
			return err
		}
		if i > 0 && compareRevoked(r.Entries[i-1], x) >= 0 {
			return fmt.Errorf("subject %s is not in order, or there twice", shown(x.name()))
		}
	}
	return nil
}

func (x Revoked) check() error {
	if !x.Statement.IsZero() && x.Definition != (Subject{}) {
		return errors.New("an entry revokes a definition and a statement at once")
	}
	if x.Statement.IsZero() {
		if _, _, err := lock.ParseID(x.Definition.ID()); err != nil {
			return err
		}
		if !x.Definition.Kind.Valid() || x.Definition.Digest.IsZero() {
			return fmt.Errorf("subject %s has no digest", shown(x.name()))
		}
	}
	return checkText("a reason", x.Reason)
}

func (c *revocation) write(e *encoder) {
	r := &c.said
	e.string("recipe", Recipe)
	e.strings("servers", r.Servers)
	e.raw("number", strconv.FormatUint(r.Number, 10))
	e.time("issuedAt", r.IssuedAt)
	e.time("nextUpdate", r.NextUpdate)
}

func (c *revocation) read(r *canonical.Reader) error {
	said := &c.said
	m := members{r, []string{"issuedAt", "nextUpdate", "number", "recipe", "servers"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "recipe":
			err = readRecipe(r)
		case "servers":
			said.Servers, err = readStrings(r)
		case "number":
			said.Number, err = readInteger(r, name)
		case "issuedAt":
			said.IssuedAt, err = readTime(r)
		case "nextUpdate":
			said.NextUpdate, err = readTime(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
}
