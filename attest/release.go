package attest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A Release is what a publisher says of the definitions it signs; the package
// comment has the meaning of each member.
type Release struct {
	Server          string // name; see lock.CheckName
	Version         string
	PURLs, Origins  []string
	Sequence        uint64 // 0 < n < 2^53
	Variant         string
	Complete        bool
	Kinds           []lock.Kind // sorted
	ProtocolVersion string
	IssuedAt        time.Time // whole seconds
	ExpiresAt       time.Time // the zero time: does not expire
	Source          *Resource
	Artifacts       []Resource
}

// definitions is the content of a statement about the definitions of a release.
type definitions struct {
	release  Release
	subjects []Subject // sorted
}

// Definitions makes the statement that vouches for the definitions of l as
// release r. Every definition must have a digest: a listing with refused
// definitions, and one without any, is an error.
func Definitions(l *lock.Listing, r Release) (*Statement, error) {
	if l == nil {
		return nil, errors.New("there is no listing to vouch for")
	}
	if n := len(l.Refused); n > 0 {
		return nil, fmt.Errorf("%d definitions have no digest; the first is %s: %w",
			n, shown(lock.ID(l.Refused[0].Kind, l.Refused[0].Name)), l.Refused[0].Err)
	}
	return makeOwn(&definitions{release: r, subjects: subjectsOf(l.Definitions)})
}

// Release returns what the publisher says of the release; the zero Release,
// which names no server and has no sequence, if s is no statement about the
// definitions of one.
func (s *Statement) Release() Release {
	if d, ok := s.content.(*definitions); ok {
		return d.release
	}
	return Release{}
}

// Subjects returns the definitions that a publisher vouches for, sorted by kind
// and name; none if s is a statement of another kind.
func (s *Statement) Subjects() []Subject {
	if d, ok := s.content.(*definitions); ok {
		return slices.Clone(d.subjects)
	}
	return nil
}

// Find returns the subject of that kind and name that a publisher vouches for;
// there is none if s is a statement of another kind.
func (s *Statement) Find(k lock.Kind, name string) (Subject, bool) {
	if d, ok := s.content.(*definitions); ok {
		return findSubject(d.subjects, k, name)
	}
	return Subject{}, false
}

// Surface returns the listing digest of exactly the definitions that s vouches
// for, see lock.SurfaceDigest; the zero Digest for a statement of another kind.
func (s *Statement) Surface() lock.Digest {
	d, ok := s.content.(*definitions)
	if !ok {
		return lock.Digest{}
	}
	return lock.SurfaceDigest(func(yield func(string, lock.Digest) bool) {
		for _, x := range d.subjects {
			if !yield(x.ID(), x.Digest) {
				return
			}
		}
	})
}

func (d *definitions) predicateType() string { return PredicateType }

func (d *definitions) list() []subject { return asList(d.subjects) }

// set takes the subjects in any order.
func (d *definitions) set(list []subject) (err error) {
	d.subjects, err = asDefinitions(list)
	slices.SortFunc(d.subjects, compareSubjects)
	return err
}

// check reports what makes d no statement: the rules that Definitions and
// Parse share.
func (d *definitions) check() error {
	r := &d.release
	if err := lock.CheckName(r.Server); err != nil {
		return err
	}
	if err := checkSubjects(d.subjects); err != nil {
		return err
	}
	switch {
	case r.Sequence == 0 || r.Sequence > lock.MaxSequence:
		return fmt.Errorf("sequence %d is not between 1 and 2^53-1", r.Sequence)
	case !strictlySorted(r.Kinds, func(k lock.Kind) string { return string(k) }):
		return errors.New("kinds are missing, not sorted, or there twice")
	}
	if err := checkIssued(r.IssuedAt); err != nil {
		return err
	}
	if !r.ExpiresAt.IsZero() {
		if err := checkEnd("expiresAt", r.IssuedAt, r.ExpiresAt); err != nil {
			return err
		}
	}
	for _, k := range r.Kinds {
		if !k.Valid() {
			return fmt.Errorf("kind %s is not known", shown(string(k)))
		}
	}
	for _, s := range d.subjects {
		if !slices.Contains(r.Kinds, s.Kind) {
			return fmt.Errorf("subject %s: its kind is not among the kinds", shown(s.ID()))
		}
	}
	return r.checkTexts()
}

// checkTexts reports strings that are too long or not Unicode.
func (r *Release) checkTexts() error {
	packages := slices.Concat(r.PURLs, r.Origins)
	if err := checkText("a string of the release", append(packages, r.Version, r.Variant, r.ProtocolVersion)...); err != nil {
		return err
	}
	if slices.Contains(packages, "") {
		return errors.New("a purl or origin is empty")
	}
	resources := r.Artifacts
	if r.Source != nil {
		resources = append([]Resource{*r.Source}, r.Artifacts...)
	}
	for _, res := range resources {
		if err := res.check("a source or artifact"); err != nil {
			return err
		}
	}
	return nil
}

func (d *definitions) write(e *encoder) {
	r := &d.release
	e.string("recipe", Recipe)
	e.name("server")
	e.object(func() {
		e.string("name", r.Server)
		e.optional("version", r.Version)
		e.strings("purls", r.PURLs)
		e.strings("origins", r.Origins)
	})
	e.raw("sequence", strconv.FormatUint(r.Sequence, 10))
	e.string("variant", r.Variant)
	e.raw("complete", strconv.FormatBool(r.Complete))
	kinds := make([]string, len(r.Kinds))
	for i, k := range r.Kinds {
		kinds[i] = string(k)
	}
	e.strings("kinds", kinds)
	e.optional("protocolVersion", r.ProtocolVersion)
	e.time("issuedAt", r.IssuedAt)
	if !r.ExpiresAt.IsZero() {
		e.time("expiresAt", r.ExpiresAt)
	}
	if r.Source != nil {
		e.name("source")
		e.resource(*r.Source)
	}
	e.resources("artifacts", r.Artifacts)
}

func (d *definitions) read(r *canonical.Reader) error {
	rel := &d.release
	m := members{r, []string{"complete", "issuedAt", "kinds", "recipe", "sequence", "server", "variant"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "recipe":
			err = readRecipe(r)
		case "server":
			err = rel.readServer(r)
		case "sequence":
			rel.Sequence, err = readInteger(r, name)
		case "variant":
			rel.Variant, err = r.String()
		case "complete":
			rel.Complete, err = r.Bool()
		case "kinds":
			var kinds []string
			kinds, err = readStrings(r)
			for _, k := range kinds {
				rel.Kinds = append(rel.Kinds, lock.Kind(k))
			}
		case "protocolVersion":
			rel.ProtocolVersion, err = readText(r)
		case "issuedAt":
			rel.IssuedAt, err = readTime(r)
		case "expiresAt":
			rel.ExpiresAt, err = readTime(r)
		case "source":
			rel.Source = new(Resource)
			err = rel.Source.read(r)
		case "artifacts":
			err = nonEmpty(r, func() error {
				rel.Artifacts = append(rel.Artifacts, Resource{})
				return rel.Artifacts[len(rel.Artifacts)-1].read(r)
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
}

func (rel *Release) readServer(r *canonical.Reader) error {
	m := members{r, []string{"name"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "name":
			rel.Server, err = r.String()
		case "version":
			rel.Version, err = readText(r)
		case "purls":
			rel.PURLs, err = readStrings(r)
		case "origins":
			rel.Origins, err = readStrings(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
}
