package lock

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The limits of a detail.
const (
	maxDetail      = 120 // bytes of a name or value
	maxDetailNames = 5
)

// A path is where a value is, as a chain, since most places need no pointer.
type path struct {
	up       *path
	token    string // in both definitions, unless it is an element's place
	index    bool
	old, new int  // the indices of an element, -1 for none
	end      bool // what is below has no field of its own
}

func (p *path) child(token string) *path {
	if p.end {
		return p
	}
	return &path{up: p, token: token}
}

func (p *path) element(x pair) *path {
	if p.end {
		return p
	}
	return &path{up: p, index: true, old: x.old, new: x.new}
}

// pointers returns the RFC 6901 pointers in both definitions. Below an element
// that only one of them has, the other's is that of the array.
func (p *path) pointers() (old, new string) {
	var chain []*path
	for ; p != nil; p = p.up {
		chain = append(chain, p)
	}
	inOld, inNew := true, true
	for _, p := range slices.Backward(chain) {
		a, b := p.token, p.token
		if p.index {
			inOld, inNew = inOld && p.old >= 0, inNew && p.new >= 0
			a, b = strconv.Itoa(p.old), strconv.Itoa(p.new)
		}
		if inOld {
			old = canonical.Child(old, a)
		}
		if inNew {
			new = canonical.Child(new, b)
		}
	}
	return old, new
}

// detail returns the start of a text.
func detail(s string) string {
	if len(s) > maxDetail {
		return strings.ToValidUTF8(s[:maxDetail], "") + "..."
	}
	return s
}

// detailOf returns the start of a value.
func detailOf(v *value) string {
	if v == nil {
		return "absent"
	}
	return detail(string(v.form[:min(len(v.form), maxDetail+1)]))
}
