package attest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// maxPointer is how many bytes a JSON pointer can have.
const maxPointer = 4096

// ErrNoValue says that a predicate has no value at a pointer.
var ErrNoValue = errors.New("the predicate has no value there")

// CheckPointer reports why pointer is no JSON pointer (RFC 6901) that Value
// takes: at most 4,096 bytes and as many levels as a statement can have.
func CheckPointer(pointer string) error {
	_, err := splitPointer(pointer)
	return err
}

// splitPointer returns the reference tokens of a pointer (RFC 6901 section 4).
func splitPointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	fail := func(why string) ([]string, error) {
		return nil, fmt.Errorf("JSON pointer %.200q %s", pointer, why)
	}
	switch {
	case len(pointer) > maxPointer:
		return fail(fmt.Sprintf("has more than %d bytes", maxPointer))
	case strings.ToValidUTF8(pointer, "") != pointer:
		return fail("is not UTF-8")
	case pointer[0] != '/':
		return fail("does not start with a slash")
	case strings.Count(pointer, "/") > canonical.MaxDepth:
		return fail(fmt.Sprintf("has more than %d levels", canonical.MaxDepth))
	}
	tokens := strings.Split(pointer[1:], "/")
	unescape := strings.NewReplacer("~0", "~", "~1", "/")
	for i, t := range tokens {
		if strings.Count(t, "~") != strings.Count(t, "~0")+strings.Count(t, "~1") {
			return fail("has a ~ that is neither ~0 nor ~1")
		}
		tokens[i] = unescape.Replace(t)
	}
	return tokens, nil
}

// Value returns the RFC 8785 form of the value at a JSON pointer (RFC 6901)
// into the predicate; "" is the predicate itself. Two values are equal if their
// forms are. The error is ErrNoValue if there is none, which "-", an index
// behind the end of an array and one with leading zeros are as well; a value
// that has no such form (a number of 2^53 or more) is an error of its own. The
// time it takes grows with the statement's size, which is bounded.
func (p *Predicate) Value(pointer string) ([]byte, error) {
	tokens, err := splitPointer(pointer)
	if err != nil {
		return nil, err
	}
	form, err := find(canonical.NewReader(p.raw), tokens)
	if err != nil && err != ErrNoValue {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	return form, err
}

// madeAt returns where predicates of a type say when what they say was found
// out, as a JSON pointer; empty if the type's specification has no such time.
func madeAt(predicateType string) string {
	switch predicateType {
	case VSAType, "https://slsa.dev/verification_summary/v0.2":
		return "/timeVerified"
	case "https://slsa.dev/provenance/v1":
		return "/runDetails/metadata/finishedOn"
	case "https://slsa.dev/provenance/v0.2":
		return "/metadata/buildFinishedOn"
	case "https://in-toto.io/attestation/svr/v0.1":
		return "/timeCreated"
	case "https://in-toto.io/attestation/vulns/v0.1", "https://in-toto.io/attestation/vulns/v0.2":
		return "/metadata/scanFinishedOn"
	}
	return ""
}

// Time returns the time at which what p says was found out, in the words of
// whoever signed it: of verification summaries, SLSA provenance, SVR and
// vulnerability scans. The error is ErrNoValue if p does not say, or its type
// has no place for it.
func (p *Predicate) Time() (time.Time, error) {
	at := madeAt(p.typ)
	if at == "" {
		return time.Time{}, ErrNoValue
	}
	form, err := p.Value(at)
	if err != nil {
		return time.Time{}, err
	}
	var t time.Time
	if err := t.UnmarshalJSON(form); err != nil || t.IsZero() {
		return time.Time{}, fmt.Errorf("predicate: %s is no RFC 3339 time", at)
	}
	return t, nil
}

// errFound ends the walk of find.
var errFound = errors.New("found")

// find returns the form of the value that tokens lead to from the next one of
// r, of which nothing can be read after that.
func find(r *canonical.Reader, tokens []string) ([]byte, error) {
	if len(tokens) == 0 {
		return r.Value()
	}
	var form []byte
	visit := func(here bool) (err error) {
		if !here {
			return r.Skip()
		}
		if form, err = find(r, tokens[1:]); err == nil {
			err = errFound
		}
		return err
	}
	var err error
	switch r.Peek() {
	case '{':
		err = r.Object(func(name string) error { return visit(name == tokens[0]) })
	case '[':
		index, bad := strconv.Atoi(tokens[0])
		if bad != nil || strconv.Itoa(index) != tokens[0] {
			return nil, ErrNoValue
		}
		err = r.Array(func(i int) error { return visit(i == index) })
	}
	switch err {
	case errFound:
		return form, nil
	case nil:
		return nil, ErrNoValue
	}
	return nil, err
}
