package verify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/canonical"
)

func (p *policyParser) approvals(node ast.Node) (*approvalRule, error) {
	a := &approvalRule{need: 1}
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "from":
			a.from, err = p.references(value)
		case "need":
			a.need, err = p.need(value)
		case "maxAge":
			a.maxAge, err = p.duration(value)
		case "audience":
			if a.audience, err = p.string(value); err == nil {
				if cause := attest.CheckAudience(a.audience); cause != nil {
					err = p.fail(value, "%w", cause)
				}
			}
		default:
			err = memberNames{"from", "need", "maxAge", "audience"}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(a.from) == 0:
		return nil, p.fail(node, "the approvals are from nobody")
	case a.audience == "":
		return nil, p.fail(node, "the approvals name no audience: the deployment they are for")
	case a.need > len(a.from):
		return nil, p.fail(node, "the approvals need %d principals and have %d", a.need, len(a.from))
	}
	return a, nil
}

func (p *policyParser) revocations(node ast.Node) (*freshRule, error) {
	f := &freshRule{place: p.place(node)}
	named := false
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "by":
			named = true
			f.by, err = p.references(value)
		case "maxAge":
			f.maxAge, err = p.duration(value)
		default:
			err = memberNames{"by", "maxAge"}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case named && len(f.by) == 0:
		return nil, p.fail(node, "the revocation lists are by nobody")
	case f.maxAge == 0:
		return nil, p.fail(node, "revocations needs maxAge: how old a list may be")
	}
	return f, nil
}

// idleListers returns those of whom the rule asks for revocation lists although
// they can't revoke anything under it.
func (r *rule) idleListers(revokers []reference) []reference {
	if r.fresh == nil {
		return nil
	}
	able := slices.Concat(r.signedBy, revokers)
	if r.approvals != nil {
		able = append(able, r.approvals.from...)
	}
	for _, a := range r.attested {
		able = append(able, a.by...)
	}
	return slices.DeleteFunc(slices.Clone(r.fresh.by), func(ref reference) bool {
		return slices.ContainsFunc(able, func(x reference) bool { return x.text == ref.text })
	})
}

func (p *policyParser) attestation(node ast.Node) (attestationRule, error) {
	a := attestationRule{place: p.place(node)}
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "type":
			if a.predicate, err = p.string(value); err == nil && (a.predicate == "" || len(a.predicate) > maxType || strings.HasPrefix(a.predicate, ownTypes)) {
				err = p.fail(value, "want a predicate type of 1 to %d bytes that is none of mcpsign's own", maxType)
			}
		case "by":
			a.by, err = p.references(value)
		case "of":
			a.artifact, err = p.choice(value, "definitions", "artifact")
		case "maxAge":
			a.maxAge, err = p.duration(value)
		case "where":
			err = p.oneOrMore(value, func(n ast.Node) error {
				c, err := p.condition(n)
				a.where = append(a.where, c)
				return err
			})
		default:
			err = memberNames{"type", "by", "of", "maxAge", "where"}
		}
		return err
	})
	switch {
	case err != nil:
		return a, err
	case a.predicate == "":
		return a, p.fail(node, "the attestation has no type")
	case len(a.by) == 0:
		return a, p.fail(node, "the attestation is by nobody")
	}
	return a, nil
}

// maxType is how many bytes a predicate type can have.
const maxType = 4096

// ownTypes begins the predicate types that have a meaning of their own.
const ownTypes = "https://mcpsign.github.io/"

func (p *policyParser) condition(node ast.Node) (condition, error) {
	var c condition
	pointed, equals := false, false
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "pointer":
			pointed = true
			if c.pointer, err = p.string(value); err == nil && attest.CheckPointer(c.pointer) != nil {
				err = p.fail(value, "%s is no JSON pointer", shown(c.pointer))
			}
		case "equals":
			equals = !equals
			err = p.scalar(value, &c)
		case "oneOf":
			equals = !equals
			err = p.few(value, func(n ast.Node) error { return p.scalar(n, &c) })
		default:
			err = memberNames{"pointer", "equals", "oneOf"}
		}
		return err
	})
	if err == nil && (!pointed || !equals) {
		err = p.fail(node, "a condition has a pointer, and either equals or oneOf")
	}
	return c, err
}

// scalar reads a string, an integer or a boolean.
func (p *policyParser) scalar(node ast.Node, c *condition) error {
	switch node.(type) {
	case *ast.IntegerNode:
		n, err := p.signedInteger(node)
		c.values = append(c.values, strconv.AppendInt(nil, n, 10))
		return err
	case *ast.BoolNode:
		b, err := p.bool(node)
		c.values = append(c.values, strconv.AppendBool(nil, b))
		return err
	}
	s, err := p.string(node)
	if _, isText := node.(*ast.StringNode); err != nil && !isText {
		err = p.want(node, "a string, an integer or a boolean")
	}
	if err != nil {
		return err
	}
	c.values = append(c.values, canonical.AppendString(nil, s))
	return nil
}
