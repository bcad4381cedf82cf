package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// Kept is what was added for a server: evidence, and what it was verified with
// then. Whoever can write beside the lockfile can put something there, so that
// the latter permits nothing but by keys, which are named by their digests.
type kept struct {
	bundles [][]byte
	status  [][]byte // of certificates
	keys    []verify.TrustedKey
	trust   []verify.Trust // each to be tried by itself
}

// kept reads what was added for a server.
func (s *store) kept(server string) (*kept, error) {
	files, err := s.added(server)
	if err != nil {
		return nil, err
	}
	k := &kept{}
	var common verify.Trust
	var roots [][]byte
	for _, f := range files {
		switch {
		case f.Trust:
			if root, err := addKept(&common, f.Data); err != nil {
				return nil, fail(ExitTrust, fmt.Errorf("%s/%s: %w", addedPath(server), f.Base(), err), "restore the file from version control")
			} else if root {
				roots = append(roots, f.Data)
			}
		case isStatus(f.Data):
			k.status = append(k.status, f.Data)
		default:
			k.bundles = append(k.bundles, f.Data)
		}
	}
	k.keys = common.Keys
	for _, root := range roots {
		one := common
		one.SigstoreRoot = root
		k.trust = append(k.trust, one)
	}
	if len(roots) == 0 && len(common.Keys)+len(common.TSAs) > 0 {
		k.trust = append(k.trust, common)
	}
	return k, nil
}

// verifiers returns v and those with the trust that was kept, to tell who signed
// what was.
func (k *kept) verifiers(v *verify.Verifier) []*verify.Verifier {
	all := []*verify.Verifier{v}
	for _, t := range k.trust {
		if one, err := verify.New(nil, t); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// addKept adds a key or certificate to trust, and reports whether data is a
// Sigstore trusted root instead. What a certificate was for is not known.
func addKept(trust *verify.Trust, data []byte) (root bool, err error) {
	if bytes.HasPrefix(data, []byte("{")) {
		return true, nil
	}
	if key, err := x509.ParsePKIXPublicKey(data); err == nil {
		trust.Keys = append(trust.Keys, verify.TrustedKey{Key: key})
		return false, nil
	}
	c, err := x509.ParseCertificate(data)
	if err != nil {
		return false, fmt.Errorf("neither a key nor a certificate nor a trusted root: %w", err)
	}
	trust.TSAs = append(trust.TSAs, c)
	if c.IsCA {
		trust.Roots = append(trust.Roots, c)
	}
	return false, nil
}

// neededFor returns the bytes of what a bundle was verified with.
func neededFor(v *verify.Verifier, bundle []byte) [][]byte {
	var all [][]byte
	for _, d := range v.Needed(bundle) {
		all = append(all, v.Material(d))
	}
	return all
}

// keptHint says which file has to be given for a kept bundle to be judged.
func (j *judgement) keptHint(e *verify.KeptError) string {
	i := slices.IndexFunc(j.request.Kept, func(b []byte) bool { return sha256.Sum256(b) == e.Bundle })
	if i < 0 {
		return ""
	}
	u, err := verify.Inspect(j.request.Kept[i])
	if err != nil {
		return ""
	}
	var flags []string
	add := func(wanted bool, flag string) {
		if wanted && !slices.Contains(strings.Fields(j.flags), flag) {
			flags = append(flags, flag+" FILE")
		}
	}
	keyless := len(u.Certificates) > 0 && u.Certificates[0].OIDCIssuer != ""
	key, err := lock.ParseDigest(u.Key)
	add(u.Key != "" && (err != nil || j.verifier.Material(key) == nil), "--key")
	add(len(u.Certificates) > 0 && !keyless, "--roots")
	add(len(u.Timestamps) > 0 && !keyless, "--tsa-roots")
	add(keyless || len(u.LogEntries) > 0, "--trusted-root")
	if len(flags) == 0 {
		return "the files given do not know who signed or stamped it; look at it: mcpsign inspect " + quoteWords(j.kept(e.Bundle, addedPath(j.server)))
	}
	if j.sighted != j.here {
		return "give what it was verified with when it was added: " + j.command(j.app.command, append(flags, j.source)...)
	}
	// The rule of the lockfile takes no roots, but for a bundle that is named.
	file := quoteWords(j.kept(e.Bundle, addedPath(j.server)))
	if isRevocation(j.request.Kept[i]) {
		return "add it again with what it was verified with: " + j.command("add", append([]string{file}, flags...)...)
	}
	return "approve it with what it was verified with: " + j.command("approve", append(flags, "--bundle", file, cmp.Or(j.source, "SOURCE"))...)
}
