package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// An Explanation says what one policy makes of one definition.
type Explanation struct {
	Policy string // as ParsePolicy was told; empty if no policy file decides
	Line   int    // of the rule; 0 if there is none, or no policy file
	Rule   string // as Decision.Rule
	Result Result // by this policy alone
	Needs  []Need // what the rule asks for, in the order in which it is judged; none for what has no digest, or no rule
}

// A Need is one thing that a rule asks for.
type Need struct {
	Code  NeedCode
	Want  string  // for people, fit for a terminal
	Found []Found // what there is, whether it counts or not
	Met   bool
}

// A Found is one thing that was looked at for a need.
type Found struct {
	Text   string // for people, fit for a terminal
	Counts bool
}

// A NeedCode names a kind of need. Codes are stable.
type NeedCode string

const (
	NeedUnrevoked   NeedCode = "unrevoked"   // no revocation list of those who may has the definition
	NeedLists       NeedCode = "lists"       // a recent revocation list of each of whom the rule asks for one
	NeedSignatures  NeedCode = "signatures"  // of the release, by as many principals as the rule says
	NeedStatus      NeedCode = "status"      // of the certificates that signed, where the policy asks for it
	NeedAttestation NeedCode = "attestation" // one for each that the rule asks for
	NeedApprovals   NeedCode = "approvals"
	NeedSource      NeedCode = "source" // the launch is one that the release names, and the one that was approved
	NeedServer      NeedCode = "server" // what the server calls itself is as it was approved
	NeedPin         NeedCode = "pin"    // someone approved the definition, or the rule accepts the update
)

// Explain says why a definition, listed or missed, has its verdict: one
// explanation a policy, none if nothing was decided about it.
func (d *Decision) Explain(k lock.Kind, name string) []Explanation {
	if len(d.parts) == 0 {
		return d.explain(k, name)
	}
	var all []Explanation
	for _, p := range d.parts {
		all = append(all, p.explain(k, name)...)
	}
	return all
}

func (d *Decision) explain(k lock.Kind, name string) []Explanation {
	i, ok := slices.BinarySearchFunc(d.results, Result{Kind: k, Name: name}, compareResults)
	if !ok {
		return nil
	}
	x := Explanation{Rule: d.rule, Result: d.results[i]}
	if d.need != nil && d.need.line > 0 {
		x.Policy, x.Line = strings.TrimSuffix(d.rule, fmt.Sprintf(":%d", d.need.line)), d.need.line
	}
	if d.need == nil || d.err != nil || x.Result.Digest.IsZero() {
		return []Explanation{x}
	}
	for _, def := range d.request.Listing.Definitions {
		if def.Kind() == k && def.Name() == name {
			x.Needs = d.needs(def)
			break
		}
	}
	return []Explanation{x}
}

func (d *Decision) needs(def lock.Definition) []Need {
	q, subject := d.need, subjectOf(def)
	vouching := d.vouching(subject)
	var needs []Need
	if len(q.revokers) > 0 {
		reason, revoked := d.found.revokedDefinition(nil, d.server, subject)
		n := Need{Code: NeedUnrevoked, Want: "not revoked by " + nameAll(q.revokers), Met: !revoked}
		if revoked {
			n.Found = []Found{{Text: "revoked" + because(reason)}}
		}
		needs = append(needs, n)
	}
	if q.rule.fresh != nil {
		needs = append(needs, d.listsNeed())
	}
	var pins []lock.Pin
	if d.request.Lock != nil {
		pins = d.request.Lock.Pin(def.Kind(), def.Name())
	}
	if q.asksSignature(equalPins(pins, def.Digest())) {
		needs = append(needs, Need{NeedSignatures, count(q.need, q.signers), d.foundReleases(subject), len(vouching) >= q.need})
	}
	if n, ok := d.statusNeed(); ok {
		needs = append(needs, n)
	}
	for i, a := range q.attested {
		cs := d.attestations(i, subject)
		want := fmt.Sprintf("%s by %s", shown(a.predicate), nameAll(q.attesters[i]))
		needs = append(needs, Need{NeedAttestation, want + a.conditions(), d.foundOthers(subject, d.found.attested[i], cs, a.predicate), len(cs) > 0})
	}
	if q.approvals != nil {
		cs := d.approving(subject)
		want := count(q.approvals.need, q.approvers) + " for " + lock.Visible(q.approvals.audience)
		needs = append(needs, Need{NeedApprovals, want, d.foundOthers(subject, d.found.approvals, cs, attest.ApprovalType), len(cs) >= q.approvals.need})
	}
	if n, ok := d.sourceNeed(vouching); ok {
		needs = append(needs, n)
	}
	if n, ok := d.serverNeed(def, vouching); ok {
		needs = append(needs, n)
	}
	return append(needs, d.pinNeed(def))
}

// foundReleases describes the statements that were chosen, and the bundles
// that do not count.
func (d *Decision) foundReleases(x attest.Subject) []Found {
	var found []Found
	for _, c := range d.used {
		rel := c.statement.Release()
		text := fmt.Sprintf("%s, sequence %d of %s", c.signer, rel.Sequence, rel.IssuedAt.UTC().Format(time.RFC3339))
		if rel.Variant != "" {
			text += ", variant " + shown(rel.Variant)
		}
		reason, revoked := d.found.revokedDefinition(c.by, d.server, x)
		_, named := c.statement.Find(x.Kind, x.Name)
		switch {
		case revoked:
			text += ": the definition is revoked" + because(reason)
		case !named:
			text += ": does not name it"
		case !c.covers(x):
			text += ": has it with another text"
		}
		found = append(found, Found{text, c.covers(x) && !revoked})
	}
	return append(found, d.refused(attest.PredicateType)...)
}

// foundOthers describes approvals or attestations, of which some count.
func (d *Decision) foundOthers(x attest.Subject, all, counting []counted, kind string) []Found {
	var found []Found
	for _, c := range all {
		counts := slices.ContainsFunc(counting, func(have counted) bool { return have.bundle == c.bundle })
		text := c.signer.String()
		switch {
		case counts:
		case c.statement.Approves(x) && !d.reviewed(c, x):
			text += ": it is about a change of something else than what is pinned"
		default:
			text += ": not about it"
		}
		found = append(found, Found{text, counts})
	}
	return append(found, d.refused(kind)...)
}

// refused describes the bundles of a kind, or of which it is not known, that do
// not count.
func (d *Decision) refused(kind string) []Found {
	var found []Found
	for _, x := range d.diagnostics {
		if x.Type == kind || x.Type == "" && kind == attest.PredicateType {
			found = append(found, Found{Text: fmt.Sprintf("bundle %s: %s: %v", x.Bundle, x.Reason, x.Err)})
		}
	}
	return found
}

// sourceNeed explains the launch; there is nothing to say if neither the rule
// nor the lock binds it.
func (d *Decision) sourceNeed(vouching []counted) (Need, bool) {
	q, now, entry := d.need, d.request.Source, d.request.Lock
	n := Need{Code: NeedSource, Met: !d.relaunched() && (!q.bindSource || d.isBound(vouching))}
	var wants []string
	if q.bindSource {
		wants = append(wants, "a launch that the release names")
		for _, c := range vouching {
			for _, name := range c.named() {
				n.Found = append(n.Found, Found{"the release names " + name, c.bound})
			}
		}
	}
	if entry != nil && !entry.Source.IsZero() {
		wants = append(wants, "the launch that was approved: "+launchText(entry.Source)+surroundings(entry.Source))
	}
	n.Want = strings.Join(wants, ", and ")
	text := "launched as " + launchText(now) + surroundings(now)
	if d.request.Doubt != "" {
		text += ", which is in doubt: " + lock.Visible(d.request.Doubt)
	}
	n.Found = append(n.Found, Found{text, n.Met})
	return n, len(wants) > 0
}

// serverNeed explains what the server calls itself; there is nothing to say
// unless a name was approved and one is given.
func (d *Decision) serverNeed(def lock.Definition, vouching []counted) (Need, bool) {
	entry := d.request.Lock
	if entry == nil || entry.Info.Name == "" || d.info.Name == "" {
		return Need{}, false
	}
	n := Need{Code: NeedServer, Want: "a server that calls itself " + shown(entry.Info.Name)}
	if d.need.accept {
		n.Want += ", or a later release of those who signed the pin"
	}
	n.Met = !d.otherServer(entry.Pin(def.Kind(), def.Name()), vouching)
	n.Found = []Found{{"it calls itself " + shown(d.info.Name), n.Met}}
	return n, true
}

// surroundings describes what a command or URL is launched with.
func surroundings(s lock.Source) string {
	text := ""
	if s.Dir != "" {
		text += ", in " + shown(s.Dir)
	}
	if len(s.Env) > 0 {
		text += ", with the environment " + shown(strings.Join(s.Env, ", "))
	}
	return text
}

func (d *Decision) pinNeed(def lock.Definition) Need {
	n := Need{Code: NeedPin, Want: "pinned as it is"}
	if d.need.accept {
		n.Want += ", or changed by a later release of those who signed the pin"
	}
	if d.request.Lock == nil {
		return n
	}
	for _, p := range d.request.Lock.Pin(def.Kind(), def.Name()) {
		same := p.Definition.Digest() == def.Digest()
		text := "pinned with " + p.Definition.Digest().String()
		if p.Unsigned {
			text += ", unsigned"
		} else if p.Variant != "" {
			text += ", variant " + shown(p.Variant)
		}
		n.Found = append(n.Found, Found{text, same})
		n.Met = n.Met || same
	}
	for _, r := range d.results {
		if r.Kind == def.Kind() && r.Name == def.Name() {
			n.Met = n.Met && !r.Has(WrongSigner) || r.Has(Updated)
		}
	}
	return n
}

// conditions describes what else an attestation must meet.
func (a attestationRule) conditions() string {
	text := ""
	if a.artifact {
		text = ", about an artifact of the release"
	}
	if a.maxAge > 0 {
		text += fmt.Sprintf(", at most %d hours old", a.maxAge/time.Hour)
	}
	for _, c := range a.where {
		var values []string
		for _, v := range c.values {
			values = append(values, shown(string(v)))
		}
		text += fmt.Sprintf(", where %s is %s", shown(c.pointer), strings.Join(values, " or "))
	}
	return text
}

// count says how many of ps are asked for.
func count(n int, ps []*principal) string {
	if len(ps) == 0 {
		return fmt.Sprintf("%d, and nobody may for this server", n)
	}
	return fmt.Sprintf("%d of %s", n, nameAll(ps))
}

func nameAll(ps []*principal) string {
	var all []string
	for _, p := range ps {
		all = append(all, shown(p.name))
	}
	return strings.Join(all, ", ")
}
