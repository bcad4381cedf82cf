package verify

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/mcpsign/mcpsign/lock"
)

// A Policy says for which servers who must have signed. Only ParsePolicy and
// Require make one.
//
// It is YAML (JSON is YAML too); policy.schema.json is its JSON Schema. The
// first rule with a matching pattern decides; a server that none matches is
// denied.
//
//	version: 1
//	publishers:                           # for what an identity can't say; files lie beside the policy
//	  acme:
//	    servers: ["io.github.acme/*"]     # for no others, whatever a rule says
//	    keyless: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"]
//	    x509: {roots: [acme-root.pem], san: "uri:https://acme.example/release", tsaRoots: [tsa.pem], crls: [acme.crl],
//	           status: required, time: timestamp}   # see below
//	    key: {file: acme.pub, notBefore: 2026-01-01T00:00:00Z, notAfter: 2027-06-30T00:00:00Z}   # or a list
//	    trustedRoot: acme-trusted-root.json   # of Sigstore, for keyless: no others count; several as JSON lines are tried one by one
//	    withoutLog: "no log runs here"    # with trustedRoot: a timestamp is enough; the reason is required
//	    evidence: [log, timestamp]        # what a signature must have: an entry in a log, an RFC 3161 timestamp
//	revokers: [acme-security]             # who may revoke what others signed
//	rules:
//	  - servers: ["io.github.acme/*"]     # * within a segment, ** across
//	    signedBy: [acme, "key:sha256:..."]  # publishers and identities, each one principal
//	    need: 2                           # of them; 1 if left out
//	    maxAge: 90d                       # of the statement: whole days (d) or hours (h)
//	    minSequence: 1796040000
//	    revocations: {by: [acme], maxAge: 7d}   # a revocation list of each that is younger; by: those of signedBy if left out
//	    listing: complete                 # subset (default) or complete
//	    updates: accept                   # hold (default) or accept
//	    refuse: block                     # withhold (default) or block
//	    bindSource: true
//	    approvals: {from: [reviewers], need: 1, maxAge: 30d, audience: production}
//	    attested:
//	      - {type: "https://slsa.dev/provenance/v1", by: [builder], maxAge: 30d,
//	         of: artifact,                # or definitions, the default: what its subjects are
//	         where: {pointer: /buildDefinition/buildType, equals: "https://acme.example/build"}}   # or oneOf: [...]; or a list
//	  - servers: ["corp.internal/**"]
//	    pinnedOnly: "our own monorepo"    # no signature; the reason is required
//
// A rule has either signedBy or pinnedOnly, and with pinnedOnly nothing else
// but listing, refuse and approvals; what was pinned as signed must be signed
// under it as well. With listing complete a definition that is pinned, or part
// of a complete statement, must be listed. With refuse block one denied
// definition denies all. With updates accept a definition that changed passes
// if the same publishers signed it in the same variant with a higher sequence;
// new definitions, instructions and loosened annotations are held all the same.
// With bindSource the launch must be one that the statement names: a URL by its
// origin, a package by its purl and digest, a program or script by its digest;
// of a digest that is not known the name and version are enough.
//
// An attestation has the definitions as its subjects, by name and digest. With of:
// artifact it is about the package, program or image instead: one of its subjects
// has the digest of an artifact that the release names which vouches for the
// definition.
//
// With revocations a decision needs a revocation list about the server by each of
// those named, made within that time; else nothing is allowed. It is for a machine
// that remembers nothing, as in CI: elsewhere what was seen before is asked for in
// any case. Who may revoke what stays as it is, so that by names only those who
// sign under the rule, approve or attest, and revokers.
//
// A certificate of own PKI is judged at the time of the timestamp. With time: now
// a signature that has none counts too, while the certificate and all above it
// are valid and were not revoked: it ends with them, and whoever has the key can
// sign until then. Where crls has lists, one that is up to date must be by the
// issuer of the certificate, and by that of each above for which there is one.
// With status: required there must be an up-to-date list or OCSP response about
// each certificate but the root. What a request brings along as Status will do
// for both.
type Policy struct {
	name       string
	publishers map[string]*namedPublisher
	revokers   []reference
	rules      []rule
}

type rule struct {
	place       // zero for a rule that no policy file has
	servers     []pattern
	signedBy    []reference
	need        int
	pinnedOnly  string
	maxAge      time.Duration // 0: any age
	minSequence uint64
	pins        bool // what is pinned must be listed
	complete    bool // so must what a complete statement names
	accept      bool // updates
	block       bool
	bindSource  bool
	approvals   *approvalRule // nil: none are asked for
	fresh       *freshRule    // nil: no revocation lists are asked for
	attested    []attestationRule
}

// A reference names a principal: a publisher, or an identity.
type reference struct {
	place
	text string
	id   Identity // zero for a publisher
}

// A place is where something stands in a policy, from 1; zero if nowhere.
type place struct{ line, column int }

type approvalRule struct {
	from     []reference
	need     int
	maxAge   time.Duration
	audience string
}

// A freshRule asks for revocation lists that are not older than maxAge.
type freshRule struct {
	place
	by     []reference // none: those of signedBy
	maxAge time.Duration
}

type attestationRule struct {
	place
	predicate string
	by        []reference
	artifact  bool // it is about an artifact that the release names, not about the definitions
	maxAge    time.Duration
	where     []condition
}

// A condition is one on a value of a predicate.
type condition struct {
	pointer string   // RFC 6901
	values  [][]byte // canonical JSON, of which one must be there
}

// A namedPublisher is a principal with a name, as the policy has it.
type namedPublisher struct {
	place
	name        string
	servers     []pattern // none: any
	keyless     []Identity
	x509        *x509Form
	keys        []keyForm
	log, stamps bool          // minimum evidence
	root        fileReference // of Sigstore: no others count; empty if they do
	rootData    []byte        // its content; nil until With
	withoutLog  string        // the reason why a timestamp is enough
}

// Limits of the lists of a policy, besides that of its bytes.
const (
	maxPrincipals = 100 // of one list, and files of one
	maxConditions = 100
)

// MaxPolicy is how many bytes a policy can have.
const MaxPolicy = 1 << 20

// Require returns the policy that server must be signed by one of signers, and
// must list what is pinned.
func Require(server string, signers ...Identity) (*Policy, error) {
	if err := lock.CheckName(server); err != nil {
		return nil, err
	}
	if len(signers) == 0 {
		return nil, errors.New("nobody may sign")
	}
	r := rule{servers: []pattern{newPattern(server)}, need: 1, pins: true}
	for _, id := range signers {
		if id.want == (lock.Signer{}) {
			return nil, errors.New("an identity is nobody")
		}
		r.signedBy = append(r.signedBy, reference{text: id.String(), id: id})
	}
	return &Policy{rules: []rule{r}}, nil
}

// find returns the index of the rule for a server and a name for it, -1 if
// there is none.
func (p *Policy) find(server string) (int, string) {
	for i := range p.rules {
		if matchesAny(p.rules[i].servers, server) {
			if p.rules[i].line == 0 {
				return i, "the signers named"
			}
			return i, fmt.Sprintf("%s:%d", p.name, p.rules[i].line)
		}
	}
	return -1, p.name
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
// UTF-8 text are errors. So are rules that can't be met: fewer principals than
// needed, and where several are, one identity in two of them. The name stands in
// errors, which are *PolicyError. Files that the policy names are not read, see
// Files.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	p := &policyParser{name: name, data: data}
	if len(data) > MaxPolicy {
		return nil, &PolicyError{name, 1, 1, fmt.Errorf("more than %d bytes", MaxPolicy)}
	}
	if err := p.text(); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(data))
	if err := cmp.Or(p.depth(tokens), p.width(tokens)); err != nil {
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
