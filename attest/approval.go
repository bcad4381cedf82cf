package attest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// An Approval is what a reviewer says of the definitions approved; the package
// comment has the meaning of each member.
type Approval struct {
	Server    string // name; see lock.CheckName
	Audience  string // the one deployment it is for; see CheckAudience
	Notes     string // for people, at most 4,096 bytes
	IssuedAt  time.Time
	ExpiresAt time.Time // required; whole seconds, as IssuedAt

	// Replaces holds, by "kind:name", the digest of the definition that the one
	// approved takes the place of. Where there is none the reviewer does not say.
	Replaces map[string]lock.Digest
}

// approval is the content of an approval.
type approval struct {
	said     Approval
	subjects []Subject // sorted
}

// Approve makes the statement in which a reviewer approves ds for one server in
// one deployment. It is an error if there are none, or two of one name.
func Approve(ds []lock.Definition, a Approval) (*Statement, error) {
	return makeOwn(&approval{said: a, subjects: subjectsOf(ds)})
}

// CheckAudience reports why a can't name a deployment: it has 1 to 255 bytes,
// visible ASCII characters without a space.
func CheckAudience(a string) error {
	if a == "" || len(a) > 255 {
		return fmt.Errorf("audience has %d bytes, want 1 to 255", len(a))
	}
	if strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("audience %s has a space or a character that is not visible ASCII", shown(a))
	}
	return nil
}

// Approval returns what a reviewer says, and whether s is an approval. Who the
// reviewer is, whether its server and audience are the ones in question and
// whether it has expired is for the caller to check.
func (s *Statement) Approval() (Approval, bool) {
	c, ok := s.content.(*approval)
	if !ok {
		return Approval{}, false
	}
	a := c.said
	a.Replaces = maps.Clone(a.Replaces)
	return a, true
}

// Approved returns the definitions that s approves, sorted by kind and name;
// none if s is no approval.
func (s *Statement) Approved() []Subject {
	if c, ok := s.content.(*approval); ok {
		return slices.Clone(c.subjects)
	}
	return nil
}

// Approves reports whether s is an approval that names x, digest included.
func (s *Statement) Approves(x Subject) bool {
	c, ok := s.content.(*approval)
	if !ok {
		return false
	}
	found, ok := findSubject(c.subjects, x.Kind, x.Name)
	return ok && found == x
}

func (c *approval) predicateType() string { return ApprovalType }

func (c *approval) list() []subject { return asList(c.subjects) }

func (c *approval) set(list []subject) (err error) {
	c.subjects, err = asDefinitions(list)
	return err
}

func (c *approval) check() error {
	a := &c.said
	if err := lock.CheckName(a.Server); err != nil {
		return err
	}
	if err := CheckAudience(a.Audience); err != nil {
		return err
	}
	if err := checkText("the text of notes", a.Notes); err != nil {
		return err
	}
	if err := checkIssued(a.IssuedAt); err != nil {
		return err
	}
	if err := checkEnd("expiresAt", a.IssuedAt, a.ExpiresAt); err != nil {
		return err
	}
	if err := checkSubjects(c.subjects); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(a.Replaces)) {
		i, found := slices.BinarySearchFunc(c.subjects, id, func(s Subject, id string) int { return strings.Compare(s.ID(), id) })
		if !found {
			return fmt.Errorf("replaces names %s, which is no subject", shown(id))
		}
		if d := a.Replaces[id]; d.IsZero() || d == c.subjects[i].Digest {
			return fmt.Errorf("replaces has no digest for %s, or that of the subject itself", shown(id))
		}
	}
	return nil
}

func (c *approval) write(e *encoder) {
	a := &c.said
	e.string("recipe", Recipe)
	e.name("server")
	e.object(func() { e.string("name", a.Server) })
	e.string("audience", a.Audience)
	e.optional("notes", a.Notes)
	e.time("issuedAt", a.IssuedAt)
	e.time("expiresAt", a.ExpiresAt)
	if len(a.Replaces) > 0 {
		e.name("replaces")
		e.object(func() {
			for _, id := range slices.Sorted(maps.Keys(a.Replaces)) {
				e.name(id)
				e.digest(a.Replaces[id])
			}
		})
	}
}

func (c *approval) read(r *canonical.Reader) error {
	a := &c.said
	m := members{r, []string{"audience", "expiresAt", "issuedAt", "recipe", "server"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "recipe":
			err = readRecipe(r)
		case "server":
			m := members{r, []string{"name"}}
			err = m.read(func(name string) (err error) {
				if name != "name" {
					return r.Unknown(name)
				}
				a.Server, err = r.String()
				return err
			})
		case "audience":
			a.Audience, err = r.String()
		case "notes":
			a.Notes, err = readText(r)
		case "issuedAt":
			a.IssuedAt, err = readTime(r)
		case "expiresAt":
			a.ExpiresAt, err = readTime(r)
		case "replaces":
			a.Replaces, err = readReplaced(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
}

// readReplaced reads {"kind:name": {"sha256": HEX}, ...}.
func readReplaced(r *canonical.Reader) (map[string]lock.Digest, error) {
	replaced := make(map[string]lock.Digest)
	err := r.Object(func(id string) (err error) {
		if len(replaced) == MaxSubjects {
			return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d subjects", MaxSubjects))
		}
		replaced[id], err = readDigest(r)
		return err
	})
	if err == nil && len(replaced) == 0 {
		err = r.Fail(canonical.Syntax, "expected elements or no member at all")
	}
	return replaced, err
}
