package verify

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

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
	return fmt.Sprintf("policy %s:%d:%d: %v", lock.Visible(e.Name), e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// ParsePolicy reads a policy of at most 1 MiB strictly: unknown and repeated
// members, anchors, aliases, merge keys, tags, further documents, and what is no
// UTF-8 text are errors. The name stands in errors, which are *PolicyError.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	p := &policyParser{name, data}
	if len(data) > MaxPolicy {
		return nil, &PolicyError{name, 1, 1, fmt.Errorf("more than %d bytes", MaxPolicy)}
	}
	if err := p.text(); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(data))
	if err := p.depth(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // mapping refuses those
	if err != nil {
		return nil, p.syntax(err)
	}
	if len(file.Docs) > 1 && file.Docs[1].Start != nil {
		return nil, p.at(file.Docs[1].Start, "want one document")
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, p.at(nil, "want one document, with version and rules")
	}
	return p.policy(file.Docs[0].Body)
}
