package verify

import "slices"

// A Reason is why a definition has its verdict, or why a bundle does not count.
// Reasons are stable.
type Reason string

const (
	Verified           Reason = "verified"            // signed as the rule asks
	Pinned             Reason = "pinned"              // equals the lock, and the rule asks no more
	Drift              Reason = "drift"               // differs from the pin
	NotLocked          Reason = "not_locked"          // not pinned
	Missing            Reason = "missing"             // pinned or part of a complete statement, and not listed
	NoDigest           Reason = "no_digest"           // see lock.DigestError
	DuplicateName      Reason = "duplicate_name"      // listed twice under one kind and name
	Unsigned           Reason = "unsigned"            // no applicable evidence
	BadSignature       Reason = "bad_signature"       // evidence that does not verify
	Unreadable         Reason = "unreadable"          // nothing can be said: evidence in a format that is not read
	WrongSigner        Reason = "wrong_signer"        // valid, by someone else
	WrongServer        Reason = "wrong_server"        // valid, for another server
	WrongKind          Reason = "wrong_kind"          // valid, and not about definitions, or about one of the name of another kind
	Rollback           Reason = "rollback"            // older than what was seen or is at hand, or than the rule allows
	Equivocation       Reason = "equivocation"        // two statements of one release contradict each other
	Expired            Reason = "expired"             // the statement's time, the key's, or that which the rule allows, is past
	NoRule             Reason = "no_rule"             // the policy has no rule for the server
	Blocked            Reason = "blocked"             // another definition is denied, and the rule blocks the server then
	TrustMissing       Reason = "trust_missing"       // nothing can be said: a key, root or log is not known
	FirstContact       Reason = "first_contact"       // information: no earlier sequence is known
	Revoked            Reason = "revoked"             // by a revocation list: the statement, the definition, or the certificate when it signed
	VariantUnsigned    Reason = "variant_unsigned"    // differs from a pinned and signed variant in the spelling of schemas only
	AttestationMissing Reason = "attestation_missing" // signed, and an attestation that the rule asks for is not there
	ApprovalMissing    Reason = "approval_missing"    // signed, and too few have approved it
	SourceUnbound      Reason = "source_unbound"      // the statement does not name what is launched; information unless the rule binds the source
	SourceChanged      Reason = "source_changed"      // launched otherwise than when it was approved
	ServerChanged      Reason = "server_changed"      // listed by a server that calls itself otherwise than the one that was approved
	Updated            Reason = "updated"             // information: differs from the pin, and the rule accepts the update
)

// informs reports whether r says nothing against a definition with the result x.
func (r Reason) informs(x Result) bool {
	switch r {
	case Verified, Pinned, FirstContact, Updated:
		return true
	case SourceUnbound: // a rule that binds the source leaves nothing beside it
		return slices.Contains(x.Reasons, Verified)
	}
	return false
}
