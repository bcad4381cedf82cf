package verify

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/mcpsign/mcpsign/lock"
)

// A Policy says for which servers who must have signed. Only ParsePolicy and
// Require make one.
//
// It is YAML (JSON is YAML too). The first rule with a matching pattern
// decides; a server that none matches is denied.
//
//	version: 1
//	rules:
//	  - servers: ["io.github.acme/*"]     # * within a segment, ** across
//	    signedBy: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"]
//	    listing: complete                 # subset (default) or complete
//	    refuse: block                     # withhold (default) or block
//	  - servers: ["corp.internal/**"]
//	    pinnedOnly: "our own monorepo"    # no signature; the reason is required
//
// A rule has either signedBy, of which one identity must have signed, or
// pinnedOnly. With listing complete a definition that is pinned, or part of a
// complete statement, must be listed. With refuse block one denied definition
// denies all.
type Policy struct {
	name  string
	rules []rule
}

type rule struct {
	line       int // 0 for a rule that no policy file has
	servers    []pattern
	signedBy   []Identity
	pinnedOnly string
	pins       bool // what is pinned must be listed
	complete   bool // so must what a complete statement names
	block      bool
}

// MaxPolicy is how many bytes a policy can have.
const MaxPolicy = 1 << 20

// Require returns the policy that server must be signed by one of signers, and
// must list what is pinned.
func Require(server string, signers ...Identity) (*Policy, error) {
	if err := lock.CheckName(server); err != nil {
		return nil, err
	}
	for _, s := range signers {
		if s.want == (lock.Signer{}) {
			return nil, errors.New("an identity is nobody")
		}
	}
	if len(signers) == 0 {
		return nil, errors.New("nobody may sign")
	}
	return &Policy{rules: []rule{{servers: []pattern{newPattern(server)}, signedBy: signers, pins: true}}}, nil
}

// find returns the rule for a server and a name for it, nil if there is none.
func (p *Policy) find(server string) (*rule, string) {
	for i := range p.rules {
		for _, s := range p.rules[i].servers {
			if s.matches(server) {
				if p.rules[i].line == 0 {
					return &p.rules[i], "the signers named"
				}
				return &p.rules[i], fmt.Sprintf("%s:%d", p.name, p.rules[i].line)
			}
		}
	}
	return nil, p.name
}

// A PolicyError says what is wrong with a policy, and where.
type PolicyError struct {
	Name         string
	Line, Column int // from 1
	Err          error
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("policy %s:%d:%d: %v", e.Name, e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// ParsePolicy reads a policy of at most 1 MiB strictly: unknown and repeated
// members, anchors, aliases, merge keys, tags and further documents are
// errors. The name stands in errors, which are *PolicyError.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	p := &policyParser{name: name}
	if len(data) > MaxPolicy {
		return nil, &PolicyError{name, 1, 1, fmt.Errorf("more than %d bytes", MaxPolicy)}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, p.syntax(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &PolicyError{name, 1, 1, errors.New("want one document, with version and rules")}
	}
	return p.policy(file.Docs[0].Body)
}

type policyParser struct{ name string }

func (p *policyParser) syntax(err error) error {
	e := &PolicyError{p.name, 1, 1, err}
	var located interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &located) {
		if t := located.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
		e.Err = errors.New(located.GetMessage())
	}
	return e
}

func (p *policyParser) fail(n ast.Node, format string, args ...any) error {
	e := &PolicyError{p.name, 1, 1, fmt.Errorf(format, args...)}
	if t := n.GetToken(); t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
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
	r := rule{line: node.GetToken().Position.Line}
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
		return p.fail(node, "want a mapping")
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		switch {
		case !ok:
			return p.fail(v, "want a plain member name")
		case seen[key.Value]:
			return p.fail(key, "member %s is there twice", lock.Visible(key.Value))
		}
		seen[key.Value] = true
		if err := member(key.Value, v.Value); errors.Is(err, errUnknown) {
			return p.fail(key, "unknown member %s", lock.Visible(key.Value))
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (p *policyParser) sequence(node ast.Node, element func(ast.Node) error) error {
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		return p.fail(node, "want a list")
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
	return "", p.fail(node, "want a string")
}

// choice reads one of two words and reports whether it is the second.
func (p *policyParser) choice(node ast.Node, first, second string) (bool, error) {
	s, err := p.string(node)
	if err == nil && s != first && s != second {
		err = p.fail(node, "want %s or %s", first, second)
	}
	return s == second, err
}
