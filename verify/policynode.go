package verify

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
	rows [][]byte    // lines of data, once they were asked for
	uses []reference // of publishers, to be looked up at the end
}

// at returns an error at a token, at the start for none. The library places
// what is left out behind the end of the line.
func (p *policyParser) at(t *token.Token, format string, args ...any) *PolicyError {
	e := &PolicyError{p.name, 1, 1, fmt.Errorf(format, args...)}
	if t != nil && t.Position != nil {
		if p.rows == nil {
			p.rows = bytes.Split(p.data, []byte("\n"))
		}
		e.Line = min(max(t.Position.Line, 1), len(p.rows))
		e.Column = min(max(t.Position.Column, 1), utf8.RuneCount(p.rows[e.Line-1])+1)
	}
	return e
}

// maxIndicators is how many characters that YAML may take for structure a policy
// can have: each costs the library up to 2 KiB and, in a long list, time.
const maxIndicators = 150_000

// text refuses bytes that are no UTF-8, control characters, and more structure
// than the library reads in a bounded time.
func (p *policyParser) text() error {
	line, column, indicators := 1, 1, 0
	for data := p.data; len(data) > 0; {
		r, n := utf8.DecodeRune(data)
		if strings.ContainsRune("[]{},:!&*?|>'\"\n", r) || r == '-' && (len(data) == 1 || data[1] <= ' ') {
			if indicators++; indicators > maxIndicators {
				return &PolicyError{p.name, line, column, fmt.Errorf("more than %d characters that separate elements", maxIndicators)}
			}
		}
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

// depth keeps deep nesting from the parser, whose time grows with its square, and
// keys behind a question mark, which nest as well.
func (p *policyParser) depth(tokens token.Tokens) error {
	const limit = 8
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingKeyType:
			return p.at(t, "want a key without a question mark before it")
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

// width keeps from the parser what takes it a time that grows with the square:
// many members of one mapping, and many documents.
func (p *policyParser) width(tokens token.Tokens) error {
	const limit = 2000
	members := map[int]int{} // of the mappings that are open, by the column of their keys; 0 for all flows
	flow, documents := 0, 0
	at := func(column int) {
		for c := range members {
			if c > column {
				delete(members, c)
			}
		}
	}
	for _, t := range tokens {
		column := t.Position.Column
		switch t.Type {
		case token.DocumentHeaderType:
			documents++
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			if flow = max(0, flow-1); flow == 0 {
				delete(members, 0)
			}
		case token.SequenceEntryType:
			at(column)
		case token.MappingValueType:
			if flow > 0 {
				column = 0
			} else if t.Prev != nil {
				column = t.Prev.Position.Column
				at(column)
			}
			members[column]++
		}
		switch {
		case documents > 1:
			return p.at(t, "want one document")
		case members[column] > limit:
			return p.at(t, "more than %d members", limit)
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

func (p *policyParser) fail(n ast.Node, format string, args ...any) *PolicyError {
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

// memberNames is the error of a mapping with another member than these.
type memberNames []string

func (u memberNames) Error() string { return "want one of " + strings.Join(u, ", ") }

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
		err := member(key.Value, v.Value)
		if known, ok := err.(memberNames); ok { // of this mapping, and not of one below
			return p.fail(key, "unknown member %s: %w", shown(key.Value), known)
		}
		if err != nil {
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

// string reads a string. A word that readers of YAML 1.1 take for a boolean
// must be in quotes: who writes it bare may mean either.
func (p *policyParser) string(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		if n.GetToken().Type == token.StringType && isSwitch(n.Value) {
			return "", p.fail(node, "want a string: %s is a boolean in YAML 1.1, write a text in quotes", shown(n.Value))
		}
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	}
	return "", p.want(node, "a string")
}

// isSwitch reports whether a text is a boolean or null of YAML 1.1, in whatever
// case.
func isSwitch(text string) bool {
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"}, strings.ToLower(text))
}

// reason reads a text that says why no signature is asked for. A word that
// answers yes or no does not say that, be it in quotes or bare, nor does a
// text without letters and digits.
func (p *policyParser) reason(node ast.Node) (string, error) {
	text := ""
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	default:
		return "", p.want(node, "a string")
	}
	if word := strings.TrimSpace(text); isSwitch(word) || !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", p.fail(node, "pinnedOnly needs the reason why no signature is asked for: %q is not one", word)
	}
	return text, nil
}

// choice reads one of two words and reports whether it is the second.
func (p *policyParser) choice(node ast.Node, first, second string) (bool, error) {
	s, err := p.string(node)
	if err == nil && s != first && s != second {
		err = p.fail(node, "want %s or %s", first, second)
	}
	return s == second, err
}

// integer reads a positive integer below 2^53 in decimal digits.
func (p *policyParser) integer(node ast.Node) (uint64, error) {
	if n, ok := node.(*ast.IntegerNode); ok {
		text := n.GetToken().Value
		if v, err := strconv.ParseUint(text, 10, 53); err == nil && v > 0 && text[0] != '0' {
			return v, nil
		}
	}
	return 0, p.want(node, "an integer from 1 to 2^53-1")
}

// signedInteger reads an integer whose magnitude is below 2^53, in decimal
// digits.
func (p *policyParser) signedInteger(node ast.Node) (int64, error) {
	if n, ok := node.(*ast.IntegerNode); ok {
		text := n.GetToken().Value
		if v, err := strconv.ParseInt(text, 10, 54); err == nil && strconv.FormatInt(v, 10) == text && v > -1<<53 {
			return v, nil
		}
	}
	return 0, p.want(node, "an integer between -2^53 and 2^53")
}

func (p *policyParser) bool(node ast.Node) (bool, error) {
	if n, ok := node.(*ast.BoolNode); ok && (n.GetToken().Value == "true" || n.GetToken().Value == "false") {
		return n.Value, nil
	}
	return false, p.want(node, "true or false")
}

// maxDays is the longest duration, of 24 hours each: a hundred years.
const maxDays = 36500

// duration reads whole days or hours.
func (p *policyParser) duration(node ast.Node) (time.Duration, error) {
	s, err := p.string(node)
	if err != nil {
		return 0, err
	}
	hours := map[byte]int{'d': 24, 'h': 1}
	if end := len(s) - 1; end > 0 && end <= len("876000") && s[0] != '0' && strings.Trim(s[:end], "0123456789") == "" && hours[s[end]] > 0 {
		n, _ := strconv.Atoi(s[:end]) // a few digits
		if n *= hours[s[end]]; n <= maxDays*24 {
			return time.Duration(n) * time.Hour, nil
		}
	}
	return 0, p.fail(node, "want whole days or hours, as in 90d or 12h, at most %d days", maxDays)
}

// time reads an RFC 3339 time in UTC, of whole seconds.
func (p *policyParser) time(node ast.Node) (time.Time, error) {
	s, err := p.string(node)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.UTC().Format(time.RFC3339) != s {
		return time.Time{}, p.fail(node, "want a time of the form 2006-01-02T15:04:05Z, since 1970")
	}
	return t, nil
}

// oneOrMore reads what may be there once, or several times in a list.
func (p *policyParser) oneOrMore(node ast.Node, element func(ast.Node) error) error {
	if _, list := node.(*ast.SequenceNode); list {
		return p.few(node, element)
	}
	return element(node)
}

// few reads a list of one to a hundred elements.
func (p *policyParser) few(node ast.Node, element func(ast.Node) error) error {
	if s, ok := node.(*ast.SequenceNode); ok && (len(s.Values) == 0 || len(s.Values) > maxPrincipals) {
		return p.fail(node, "want 1 to %d elements", maxPrincipals)
	}
	return p.sequence(node, element)
}

func (p *policyParser) place(n ast.Node) place {
	e := p.fail(n, "here")
	return place{e.Line, e.Column}
}

func (p *policyParser) failAt(at place, format string, args ...any) error {
	return &PolicyError{p.name, max(at.line, 1), max(at.column, 1), fmt.Errorf(format, args...)}
}
