package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// A judgement is a decision with what was put into it, for the report.
type judgement struct {
	server    string
	sighted   sighting    // by what is remembered
	here      sighting    // by what is held
	source    string      // as the user wrote it, for the next command; empty for the lockfile itself
	launch    lock.Source // how the server was launched
	bundles   []string    // files that were named
	flags     string      // of trust and the source, as they were given
	app       *app
	lockfile  string        // its path, whether or not it is there
	named     bool          // a flag says who must have signed
	trust     string        // flags, but for the bundles
	given     []lock.Digest // bundles that were named
	listing   *lock.Listing
	entry     *lock.Server // nil: nothing is pinned
	unpinned  string       // that it is not in the lockfile, and which servers are; empty if it is, or none are
	misnamed  bool         // one of those may have been meant
	decision  *verify.Decision
	verifier  *verify.Verifier
	request   verify.Request
	missing   []lock.Digest // bundles that the lock names and that are not there
	read      []authority   // the files that say who may sign and with what that is checked
	downgrade bool          // an older release is what is wanted
	held      bool          // the listing waits for approval
	explained bool          // what each rule needs is shown
	only      string        // the one definition that was asked about; empty for all
	compare   bool          // with the pins; else the signatures of the source alone
	recalled  bool          // the request has what was seen on this machine
}

// A query says what is to be judged.
type query struct {
	name      string
	source    source
	flags     *trustFlags
	listing   *lock.Listing // of the lockfile; nil: fetched
	fetched   *fetched      // nil: read the source
	compare   bool          // with the pins; else the signatures of the source alone
	approval  bool          // of a new release: bundles that are named stand in place of the recorded ones
	downgrade bool          // take no notice of sequences that were seen
	stateless bool          // take no notice of anything that was seen on this machine
}

// judge decides on a listing by the flags, the store and what was seen. Bundles
// are looked for in the flags, beside the lockfile and in the listing; where
// the signature of a source is the question, those of the flags are the answer.
func (a *app) judge(ctx context.Context, s *store, q query) (*judgement, error) {
	name, entry, err := s.lookUp(q.name, q.flags)
	if err != nil {
		return nil, err
	}
	j := &judgement{server: name, source: q.source.String(), bundles: q.flags.bundles, app: a, flags: strings.TrimSpace(q.flags.words() + " " + a.headerWords(q.source)), lockfile: s.path, named: q.flags.names(), trust: q.flags.wordsWith(nil), entry: entry, listing: q.listing}
	kept, err := s.kept(name)
	if err != nil {
		return nil, err
	}
	if j.verifier, err = q.flags.verifier(s, name, entry, kept.keys...); err != nil {
		return nil, err
	}
	if entry == nil && len(s.file.Servers) > 0 {
		j.unpinned, j.misnamed = s.notPinned(name), s.misnamed(name) != ""
	}
	if !s.had && s.path != defaultLock { // it was named
		j.unpinned, j.misnamed = "there is no lockfile "+lock.Visible(s.path), true
	}
	j.sighted, j.here = s.sighting(name, q.flags.builtin()), s.sighting(name, true)
	request := verify.Request{Server: name, Lock: entry, At: a.Now(), Revocations: q.flags.lists, Kept: kept.bundles, KeptTrust: kept.trust, Status: kept.status}
	if request.Bundles, err = j.evidenceOf(s, q); err != nil {
		return nil, err
	}
	if !q.compare && len(q.flags.bundles) > 0 {
		request.Kept = slices.DeleteFunc(slices.Clone(kept.bundles), func(b []byte) bool { return !isRevocation(b) })
	}
	got := q.fetched
	if j.listing == nil {
		if got == nil {
			if got, err = a.listing(ctx, q.source); err != nil {
				return nil, err
			}
		}
		j.listing, j.launch = got.Listing, got.launch
	}
	if j.recalled, err = a.recall(j.sighted, j.here, q, &request); err != nil {
		return nil, err
	}
	if j.downgrade = q.downgrade; q.downgrade {
		request.Seen, request.Lock = lowered(request.Seen), unsequenced(entry)
	}
	// Files say nothing about the launch: it is the one that was approved. What
	// that launched then is known of what was pinned then alone.
	if request.Source = j.launch; request.Source.IsZero() && entry != nil {
		if request.Source = entry.Source; q.listing == nil {
			request.Source.Artifacts = nil
		}
	}
	request.Listing = j.listing
	j.decide(request, q.compare)
	if err := j.obeyed(q.flags.lists); err != nil {
		return nil, err
	}
	if got != nil {
		if more, err := a.readLaunch(ctx, got, j.decision); err != nil {
			return nil, err
		} else if more {
			j.launch, request.Source, request.Doubt = got.launch, got.launch, got.doubt
			j.decide(request, q.compare)
		}
	}
	j.request, j.read = request, q.flags.decided(j.decision)
	return j, nil
}

// recall puts what was seen of a server into a request, and reports whether that
// is anything. A place to have seen it is needed for a listing; the lockfile is
// verified without, as in CI.
func (a *app) recall(of, here sighting, q query, r *verify.Request) (bool, error) {
	if q.stateless {
		return false, nil
	}
	if _, err := a.state(); err != nil && q.listing != nil {
		return false, nil
	}
	seen, err := a.seen(of, here)
	if err != nil {
		return false, err
	}
	seen.fill(r)
	return len(r.Seen)+len(r.SeenLists) > 0 || !r.Latest.IsZero(), nil
}

// withoutState returns the exit code that a judgement with this one would have
// without what was seen on this machine, and whether that is another.
func (j *judgement) withoutState(code ExitCode) (alone ExitCode, changed bool) {
	if !j.recalled || code == ExitYes {
		return code, false
	}
	other := *j
	other.recalled = false
	r := j.request
	r.Seen, r.SeenLists, r.Latest = nil, nil, time.Time{}
	other.decide(r, j.compare)
	if err := other.outcome(); err != nil {
		alone = codeOf(err)
	}
	return alone, alone != code
}

// evidenceOf returns the bundles for a question that the lockfile records and that
// are named.
func (j *judgement) evidenceOf(s *store, q query) ([][]byte, error) {
	named, err := readBundles(q.flags.bundles, j.verifyCommand())
	if err != nil {
		return nil, err
	}
	for _, b := range named {
		j.given = append(j.given, sha256.Sum256(b))
	}
	var recorded [][]byte
	if q.compare && !q.approval || len(named) == 0 {
		if recorded, j.missing, err = s.recordedBundles(j.entry); err != nil {
			return nil, err
		}
	}
	return slices.Concat(recorded, named), nil
}

// decide decides with the pins, or by the signatures of the source alone. A
// rule that asks for no signature leaves only the pins.
func (j *judgement) decide(request verify.Request, compare bool) {
	j.compare = compare
	if !compare {
		alone := request
		alone.Lock = nil
		alone.Seen = append(recordedSequences(j.entry), request.Seen...)
		if j.decision = j.verifier.Decide(alone); len(j.decision.Expected()) > 0 {
			return
		}
		j.compare = true
	}
	j.decision = j.verifier.Decide(request)
}

// obeyed reports revocation lists about the server that flags name and that
// someone signed who may not revoke for it: a list to obey is not left aside.
func (j *judgement) obeyed(lists [][]byte) error {
	for _, x := range j.decision.Diagnostics() {
		i := slices.IndexFunc(lists, func(b []byte) bool { return sha256.Sum256(b) == x.Bundle })
		if i < 0 || x.Reason != verify.WrongSigner {
			continue
		}
		u, err := verify.Inspect(lists[i])
		if err != nil || u.Statement == nil {
			continue
		}
		if rev, ok := u.Statement.Revocation(); ok && slices.Contains(rev.Servers, j.server) {
			return fail(ExitWrong, fmt.Errorf("revocation list %d: %w, who may not revoke for %s", rev.Number, x.Err, j.server), "ask who keeps the policy; look at the list: mcpsign inspect FILE")
		}
	}
	return nil
}

// lowered returns what was seen without asking for releases as new.
func lowered(seen []verify.HighWater) []verify.HighWater {
	seen = slices.Clone(seen)
	for i := range seen {
		seen[i].Lowered = true
	}
	return seen
}

// isRevocation reports whether a bundle claims to be a revocation list.
func isRevocation(bundle []byte) bool {
	u, err := verify.Inspect(bundle)
	return err == nil && u.Statement != nil && u.Statement.PredicateType() == attest.RevocationType
}

// unsequenced returns an entry that says nothing of how new its release was.
func unsequenced(entry *lock.Server) *lock.Server {
	if entry == nil {
		return nil
	}
	e := *entry
	e.Evidence = slices.Clone(entry.Evidence)
	for i := range e.Evidence {
		e.Evidence[i].Sequence = 1
	}
	return &e
}

// recordedSequences returns what the lock says was seen of a server.
func recordedSequences(entry *lock.Server) []verify.HighWater {
	var high []verify.HighWater
	if entry != nil {
		for _, e := range entry.Evidence {
			high = append(high, verify.HighWater{Signer: e.Signer, Sequence: e.Sequence})
		}
	}
	return high
}
