package verify

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// A HighWater is the highest sequence of a signer that was seen, and what was
// signed with it.
type HighWater struct {
	Signer   lock.Signer
	Sequence uint64
	Surfaces []Surface // none: only the sequence is known

	// Lowered says that someone has approved an older release since: the sequence
	// is no longer the least that counts, and what contradicts the surfaces is
	// refused all the same.
	Lowered bool
}

// Contradictory reports whether something else was signed in the same variant.
func (h HighWater) Contradictory() bool {
	seen := make(map[string]lock.Digest, len(h.Surfaces))
	for _, s := range h.Surfaces {
		if d, ok := seen[s.Variant]; ok && d != s.Digest {
			return true
		}
		seen[s.Variant] = s.Digest
	}
	return false
}

// A Surface is what a statement vouches for in one variant. Another one of the
// same sequence and variant contradicts it, even if the first is gone since.
type Surface struct {
	Variant string
	Digest  lock.Digest // of all its definitions, see attest.Statement.Surface
}

// A Request is what a decision depends on, besides policy and trust.
type Request struct {
	Server  string // the name by which the operator knows the server
	Listing *lock.Listing
	Lock    *lock.Server // nil: nothing is pinned
	Source  lock.Source  // how the server is launched, and what was read of that, see Decision.Compares; the zero Source is bound to nothing
	Doubt   string       // why something else may have been launched than Source says, for people; empty: there is no reason. With one no release names the launch, see Decision.Compares
	Bundles [][]byte     // candidates of any kind; the first 64, with those of the listing after them, are looked at: put first what was kept; the Decision holds on to their bytes
	Seen    []HighWater  // of this server, from earlier decisions
	At      time.Time    // now; the zero time is an error
	Latest  time.Time    // the latest verified time of earlier decisions; a clock that is 5 minutes behind is an error

	// Kept are bundles that someone accepted earlier, as "mcpsign add" keeps them:
	// candidates that are looked at first and not passed over. If a revocation list
	// about the server, or a release that is not older than those that count, can't
	// be judged with the trust material, the decision is a *TrustError because of a
	// *KeptError. KeptTrust is what they were judged with then. It permits nothing:
	// by the built-in rule what a list revokes that it verifies is revoked.
	Kept      [][]byte
	KeptTrust []Trust // each by itself; one that can't be used is left out

	// Status is what issuers say about their certificates: complete revocation
	// lists (RFC 5280) and OCSP responses (RFC 6960) in DER, of at most 1 MiB, in
	// any order; 64 are looked at. They are candidates: one counts if it is about
	// a certificate that signed and the issuer has signed it, or for OCSP a
	// responder that the issuer certified for that. Others are diagnosed and
	// change nothing. What revokes a certificate counts whenever it was made, what
	// does not while it is up to date; see Trust.
	Status [][]byte

	// Revocations are bundles of revocation lists that someone put there to be
	// obeyed, at most 64: one that is out of date, older than one seen, or broken
	// is an error, and no decision is made. Lists among Bundles count as well: one
	// by someone who may revoke that is out of date, dated in the future, or signed
	// with a key or certificate that does not count now is an error there too,
	// unless there is a newer one; other faults leave it aside. What one of the
	// listing revokes is revoked, whatever its date.
	Revocations [][]byte
	SeenLists   []ListMark // of this server, from earlier decisions; a list as new must be there
}

func (r *Request) check() error {
	if err := lock.CheckName(r.Server); err != nil {
		return err
	}
	switch {
	case r.Listing == nil:
		return errors.New("there is no listing to decide on")
	case r.At.IsZero():
		return errors.New("there is no time to decide at")
	case r.At.Add(skew).Before(r.Latest):
		return &TrustError{&ClockError{r.At, r.Latest}}
	case r.Lock != nil && r.Lock.Name != r.Server:
		return fmt.Errorf("lock entry of %s used for %s", lock.Visible(r.Lock.Name), r.Server)
	}
	return nil
}
