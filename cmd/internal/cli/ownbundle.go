package cli

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// verifyOwn verifies a new bundle as a host would.
func (a *app) verifyOwn(st *attest.Statement, l *lock.Listing, bundle []byte, f *signerFlags) (*sealed, error) {
	trust, err := a.ownTrust(bundle, f)
	if err != nil {
		return nil, err
	}
	host := &ownHost{trust: trust}
	if f.noTimestamp {
		if err := host.untimed(f); err != nil {
			return nil, err
		}
	}
	v, err := host.verifier(map[string]any{"servers": []string{"**"}, "pinnedOnly": "who signed is not known yet"}, nil)
	if err != nil {
		return nil, err
	}
	signer, signed, err := v.Statement(bundle)
	if err != nil {
		return nil, err
	}
	if signed.Digest() != st.Digest() {
		return nil, errors.New("something else was signed")
	}
	id := verify.IdentityOf(signer)
	if id.String() == "" {
		return nil, fmt.Errorf("a policy can't name %s: the certificate says neither which repository and ref called the workflow, nor that it is one of the repository's own", signer)
	}
	if host.publisher != nil { // byte for byte, as no parsed URL has it
		host.publisher = untimedPublisher(strings.TrimPrefix(id.String(), "x509:"), ownRoots)
	}
	return &sealed{bundle, signer, id}, a.counts(host, id, st, l, bundle)
}

// An ownHost is a host that the signer's own bundles are verified as by.
type ownHost struct {
	trust     verify.Trust
	publisher map[string]any // nil: the identity is all that its policy says
	files     map[string][]byte
}

// The publisher of an ownHost, and the file with its roots.
const ownName, ownRoots = "publisher", "roots.pem"

// untimed makes the host one that takes signatures without a timestamp.
func (h *ownHost) untimed(f *signerFlags) error {
	leaf, _, err := f.certificates()
	if err != nil {
		return err
	}
	san := ""
	for _, u := range leaf.URIs {
		san = "uri:" + u.String()
	}
	for _, m := range leaf.EmailAddresses {
		san = "email:" + m
	}
	h.publisher = untimedPublisher(san, ownRoots)
	h.files = map[string][]byte{}
	for _, c := range h.trust.Roots {
		h.files[ownRoots] = append(h.files[ownRoots], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return nil
}

// untimedPublisher is a publisher whose signatures count without a timestamp.
func untimedPublisher(san, roots string) map[string]any {
	return map[string]any{"x509": map[string]any{"roots": []string{roots}, "san": san, "time": "now"}}
}

// verifier has a policy with one rule, and revokers if there are any.
func (h *ownHost) verifier(rule map[string]any, revokers []string) (*verify.Verifier, error) {
	rules := map[string]any{"version": 1, "rules": []any{rule}}
	if revokers != nil {
		rules["revokers"] = revokers
	}
	if h.publisher != nil {
		rules["publishers"] = map[string]any{ownName: h.publisher}
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	policy, err := verify.ParsePolicy("the signer", data)
	if err == nil {
		policy, err = policy.With(h.files)
	}
	if err != nil {
		return nil, err
	}
	return verify.New(policy, h.trust)
}

// ownTrust is what the signer's own bundles verify with. Where the flags name
// no root, the topmost certificate of the chain or of the timestamp stands for
// it.
func (a *app) ownTrust(bundle []byte, f *signerFlags) (verify.Trust, error) {
	var trust verify.Trust
	var err error
	if f.token == "" {
		if trust.TSAs, err = verify.TimestampAuthorities(bundle); err != nil {
			return trust, err
		}
	}
	switch {
	case f.token != "":
		trust.SigstoreRoot, err = readFile(f.trustedRoot, maxTrustFile)
	case f.cert != "":
		var above []*x509.Certificate
		if _, above, err = f.certificates(); err == nil {
			trust.Roots = above[len(above)-1:]
		}
	default:
		var key crypto.Signer
		if key, err = f.private(a); err == nil {
			trust.Keys = []verify.TrustedKey{{Key: key.Public()}}
		}
	}
	return trust, err
}

// noteStamps says what hosts need besides the root of a timestamp authority: a
// server may leave out of its timestamps all certificates but its own.
func (a *app) noteStamps(bundle []byte, f *signerFlags) {
	if f.token != "" { // the trusted root has them
		return
	}
	tops, _ := verify.TimestampAuthorities(bundle) // verified before
	for _, c := range tops {
		if !c.IsCA {
			a.note("the timestamp brings the certificate of its signer alone: hosts need the intermediate and root certificates of the timestamp authority, from " +
				lock.Visible(c.Issuer.String()) + " up, in one file for --tsa-roots")
			return
		}
	}
}

// counts returns nil if a bundle counts for a host whose policy names the
// signer for just what the statement says.
func (a *app) counts(h *ownHost, id verify.Identity, st *attest.Statement, l *lock.Listing, bundle []byte) error {
	by := []string{id.String()}
	if h.publisher != nil {
		by = []string{ownName}
	}
	servers, rule, revokers := hostRule(by, st)
	v, err := h.verifier(rule, revokers)
	if err != nil {
		return err
	}
	r := verify.Request{Listing: l, At: a.Now()}
	if l == nil {
		r.Listing = &lock.Listing{} // whether a bundle counts does not depend on it
	}
	if _, ok := st.Revocation(); ok {
		r.Revocations = [][]byte{bundle}
	} else {
		r.Bundles = [][]byte{bundle}
	}
	for _, name := range servers {
		r.Server = name
		d := v.Decide(r)
		if trust := (*verify.TrustError)(nil); errors.As(d.Err(), &trust) {
			return trust
		}
		for _, x := range d.Diagnostics() {
			if x.Bundle == sha256.Sum256(bundle) {
				return x.Err
			}
		}
		if l != nil && st.PredicateType() == attest.PredicateType {
			if err := d.SignedErr(); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostRule returns the servers that a statement is about, and a rule by which
// it counts for them if those have signed it, or the revokers if they have to
// be that. A foreign statement is about no server in particular.
func hostRule(by []string, st *attest.Statement) (servers []string, rule map[string]any, revokers []string) {
	if r, ok := st.Revocation(); ok {
		return r.Servers, map[string]any{"servers": []string{"**"}, "pinnedOnly": "revocations count under any rule"}, by
	}
	name := st.Release().Server
	rule = map[string]any{"signedBy": by}
	if approval, ok := st.Approval(); ok {
		name = approval.Server
		rule["approvals"] = map[string]any{"from": by, "audience": approval.Audience}
	} else if foreign, ok := st.Foreign(); ok {
		name = "any"
		rule["attested"] = []any{map[string]any{"type": foreign.Type(), "by": by}}
	}
	rule["servers"] = []string{name}
	return []string{name}, rule, nil
}

// current returns an error if a statement says that it no longer counts.
func (a *app) current(st *attest.Statement) error {
	end := st.Release().ExpiresAt
	if approval, ok := st.Approval(); ok {
		end = approval.ExpiresAt
	}
	if list, ok := st.Revocation(); ok {
		end = list.NextUpdate
	}
	if !end.IsZero() && !a.Now().Before(end) {
		return fail(ExitOutdated, fmt.Errorf("the statement is good until %s, and that is past", rfc3339(end)), "make a new one")
	}
	return nil
}
