package verify

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/mcpsign/mcpsign/lock"
)

// A policyParser reads the nodes of a policy. Its errors are *PolicyError.
type policyParser struct {
	name string
	data []byte
}

// at returns an error at a token, at the start for none. The library places
// what is left out behind the end of the line.
func (p *policyParser) at(t *token.Token, format string, args ...any) error {
	e := &PolicyError{p.name, 1, 1, fmt.Errorf(format, args...)}
	if t != nil && t.Position != nil {
		lines := bytes.Split(p.data, []byte("\n"))
		e.Line = min(max(t.Position.Line, 1), len(lines))
		e.Column = min(max(t.Position.Column, 1), utf8.RuneCount(lines[e.Line-1])+1)
	}
	return e
}

// text refuses bytes that are no UTF-8, and control characters.
func (p *policyParser) text() error {
	line, column := 1, 1
	for data := p.data; len(data) > 0; {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			return &PolicyError{p.name, line, column, errors.New("not UTF-8")}
		case r == '\n':
			line, column = line+1, 0
		case unicode.IsControl(r) && r != '\t' && r != '\r' || r == '\uFEFF':
			return &PolicyError{p.name, line, column, fmt.Errorf("character U+%04X", r)}
		}
		column++
		data = data[n:]
	}
	return nil
}

// depth keeps deep nesting from the parser, whose time grows with its square.
func (p *policyParser) depth(tokens token.Tokens) error {
	const limit = 8
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType:
			if t.Position.Line != line {
				line, entries = t.Position.Line, 0
			}
			entries++
		}
		if flow > limit || entries > limit {
			return p.at(t, "nested too deeply")
		}
	}
	return nil
}

func (p *policyParser) syntax(err error) error {
	var located interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &located) {
		return p.at(located.GetToken(), "%s", shown(located.GetMessage()))
	}
	return p.at(nil, "%s", shown(err.Error()))
}

func (p *policyParser) fail(n ast.Node, format string, args ...any) error {
	return p.at(start(n), format, args...)
}

// start returns the first token of a node.
func start(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

// want is the error for a node of another type than the one wanted.
func (p *policyParser) want(n ast.Node, what string) error {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		what += ": a policy has no anchors, aliases, merge keys and tags"
	}
	return p.fail(n, "want %s", what)
}

func (p *policyParser) policy(body ast.Node) (*Policy, error) {
	policy := &Policy{name: p.name}
	versioned := false
	err := p.mapping(body, func(key string, value ast.Node) (err error) {
		switch key {
		case "version":
			versioned = true
			if n, ok := value.(*ast.IntegerNode); !ok || n.GetToken().Value != "1" {
				return p.fail(value, "version is not 1")
			}
		case "rules":
			err = p.sequence(value, func(n ast.Node) error {
				r, err := p.rule(n)
				policy.rules = append(policy.rules, r)
				return err
			})
		default:
			err = errUnknown
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !versioned:
		return nil, p.fail(body, "version is missing")
	case len(policy.rules) == 0:
		return nil, p.fail(body, "there are no rules")
	}
	return policy, nil
}

func (p *policyParser) rule(node ast.Node) (rule, error) {
	r := rule{line: start(node).Position.Line}
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "servers":
			err = p.strings(value, func(n ast.Node, s string) error {
				if err := lock.CheckName(strings.ReplaceAll(s, "*", "x")); err != nil {
					return p.fail(n, "%w", err)
				}
				r.servers = append(r.servers, newPattern(s))
				return nil
			})
		case "signedBy":
			err = p.strings(value, func(n ast.Node, s string) error {
				id, err := ParseSigner(s)
				if err != nil {
					return p.fail(n, "%w", err)
				}
				r.signedBy = append(r.signedBy, id)
				return nil
			})
		case "pinnedOnly":
			if r.pinnedOnly, err = p.string(value); err == nil && strings.TrimSpace(r.pinnedOnly) == "" {
				err = p.fail(value, "pinnedOnly needs the reason why no signature is asked for")
			}
		case "listing":
			r.complete, err = p.choice(value, "subset", "complete")
		case "refuse":
			r.block, err = p.choice(value, "withhold", "block")
		default:
			err = errUnknown
		}
		return err
	})
	switch {
	case err != nil:
		return r, err
	case len(r.servers) == 0:
		return r, p.fail(node, "the rule names no servers")
	case (len(r.signedBy) == 0) == (r.pinnedOnly == ""):
		return r, p.fail(node, "the rule needs either signedBy or pinnedOnly")
	}
	for _, s := range r.servers {
		if len(r.signedBy) > 0 && !s.literalStart() {
			return r, p.fail(node, "server pattern %s of a rule with signedBy must start with a literal segment", s.text)
		}
	}
	return r, nil
}

var errUnknown = errors.New("unknown")

// mapping calls member for each member of a mapping, in order.
func (p *policyParser) mapping(node ast.Node, member func(key string, value ast.Node) error) error {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return p.want(node, "a mapping")
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		switch {
		case !ok:
			return p.want(v.Key, "a plain member name")
		case seen[key.Value]:
			return p.fail(key, "member %s is there twice", shown(key.Value))
		}
		seen[key.Value] = true
		if err := member(key.Value, v.Value); errors.Is(err, errUnknown) {
			return p.fail(key, "unknown member %s", shown(key.Value))
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (p *policyParser) sequence(node ast.Node, element func(ast.Node) error) error {
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		return p.want(node, "a list")
	}
	if len(s.Values) > lock.MaxDefinitions {
		return p.fail(node, "more than %d elements", lock.MaxDefinitions)
	}
	for _, n := range s.Values {
		if err := element(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *policyParser) strings(node ast.Node, element func(ast.Node, string) error) error {
	return p.sequence(node, func(n ast.Node) error {
		s, err := p.string(n)
		if err != nil {
			return err
		}
		return element(n, s)
	})
}

func (p *policyParser) string(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	}
	return "", p.want(node, "a string")
}

// choice reads one of two words and reports whether it is the second.
func (p *policyParser) choice(node ast.Node, first, second string) (bool, error) {
	s, err := p.string(node)
	if err == nil && s != first && s != second {
		err = p.fail(node, "want %s or %s", first, second)
	}
	return s == second, err
}
