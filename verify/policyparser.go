package verify

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/mcpsign/mcpsign/lock"
)

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
		case "publishers":
			policy.publishers, err = p.publishers(value)
		case "revokers":
			policy.revokers, err = p.references(value)
		case "rules":
			err = p.sequence(value, func(n ast.Node) error {
				r, err := p.rule(n)
				policy.rules = append(policy.rules, r)
				return err
			})
		default:
			err = memberNames{"version", "publishers", "revokers", "rules"}
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
	for _, use := range p.uses {
		if policy.publishers[use.text] == nil {
			_, err := ParseSigner(use.text)
			return nil, p.failAt(use.place, "%w, and there is no publisher %s", err, shown(use.text))
		}
	}
	if err := policy.distinct(); err != nil {
		return nil, err
	}
	for _, r := range policy.rules {
		for _, ref := range r.idleListers(policy.revokers) {
			return nil, p.failAt(ref.place, "lists by %s revoke nothing under this rule: name those who sign, approve or attest here, or revokers", shown(ref.text))
		}
	}
	return policy, nil
}

func (p *policyParser) rule(node ast.Node) (rule, error) {
	r := rule{place: p.place(node), need: 1}
	var signed []string // the members there are that say something of signatures
	listed := false
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "servers":
			r.servers, err = p.patterns(value)
		case "signedBy":
			listed = true
			r.signedBy, err = p.references(value)
		case "pinnedOnly":
			r.pinnedOnly, err = p.reason(value)
		case "listing":
			r.complete, err = p.choice(value, "subset", "complete")
		case "refuse":
			r.block, err = p.choice(value, "withhold", "block")
		case "approvals":
			r.approvals, err = p.approvals(value)
		default:
			signed = append(signed, key)
			err = p.signature(&r, key, value)
		}
		return err
	})
	switch {
	case err != nil:
		return r, err
	case len(r.servers) == 0:
		return r, p.fail(node, "the rule names no servers")
	case (len(r.signedBy) == 0) == (r.pinnedOnly == "") || listed && r.pinnedOnly != "":
		return r, p.fail(node, "the rule needs either signedBy or pinnedOnly")
	case r.pinnedOnly != "" && len(signed) > 0:
		return r, p.fail(node, "the rule has %s, which goes with signedBy alone", signed[0])
	case r.pinnedOnly == "" && r.need > len(r.signedBy):
		return r, p.fail(node, "the rule needs %d principals and has %d", r.need, len(r.signedBy))
	}
	for _, s := range r.servers {
		if len(r.signedBy) > 0 && !s.literalStart() {
			return r, p.fail(node, "server pattern %s of a rule with signedBy must start with a literal segment", s.text)
		}
	}
	return r, nil
}

// signature reads a member of a rule that goes with signedBy alone.
func (p *policyParser) signature(r *rule, key string, value ast.Node) (err error) {
	switch key {
	case "need":
		r.need, err = p.need(value)
	case "updates":
		r.accept, err = p.choice(value, "hold", "accept")
	case "maxAge":
		r.maxAge, err = p.duration(value)
	case "minSequence":
		r.minSequence, err = p.integer(value)
	case "revocations":
		r.fresh, err = p.revocations(value)
	case "bindSource":
		r.bindSource, err = p.bool(value)
	case "attested":
		err = p.few(value, func(n ast.Node) error {
			a, err := p.attestation(n)
			r.attested = append(r.attested, a)
			return err
		})
	default:
		err = memberNames{"servers", "signedBy", "pinnedOnly", "listing", "refuse", "approvals", "need", "updates", "maxAge", "minSequence", "revocations", "bindSource", "attested"}
	}
	return err
}

func (p *policyParser) need(node ast.Node) (int, error) {
	n, err := p.integer(node)
	if err == nil && n > maxPrincipals {
		err = p.fail(node, "more than %d principals", maxPrincipals)
	}
	return int(n), err
}

// patterns reads patterns of server names.
func (p *policyParser) patterns(node ast.Node) (patterns []pattern, err error) {
	err = p.strings(node, func(n ast.Node, s string) error {
		if err := lock.CheckName(strings.ReplaceAll(s, "*", "x")); err != nil {
			return p.fail(n, "%w", err)
		}
		patterns = append(patterns, newPattern(s))
		return nil
	})
	return patterns, err
}

// references reads a list of identities, which have a colon, and of names of
// publishers.
func (p *policyParser) references(node ast.Node) (refs []reference, err error) {
	seen := make(map[string]bool)
	err = p.strings(node, func(n ast.Node, s string) (err error) {
		ref := reference{place: p.place(n), text: s}
		if seen[s] {
			return p.fail(n, "%s is there twice", shown(s))
		}
		seen[s] = true
		if len(refs) == maxPrincipals {
			return p.fail(n, "more than %d principals", maxPrincipals)
		}
		if !strings.Contains(s, ":") {
			p.uses = append(p.uses, ref)
		} else if ref.id, err = ParseSigner(s); err != nil {
			return p.fail(n, "%w", err)
		}
		refs = append(refs, ref)
		return nil
	})
	return refs, err
}
