package sign

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// certify makes a key and has Fulcio certify it. The chain is the leaf alone:
// verifiers have Fulcio's intermediates from their trusted root.
func (s *Signer) certify(ctx context.Context) (*keypair, []*x509.Certificate, error) {
	token, err := s.token(ctx)
	if err == nil {
		err = checkToken(token, s.now)
	}
	if wrong := (*TokenError)(nil); errors.As(err, &wrong) {
		return nil, nil, wrong
	}
	if err != nil {
		return nil, nil, serviceError(ctx, "oidc", "", err)
	}
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err := newKeypair(priv)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := s.requestCertificate(ctx, key, token)
	if err != nil {
		return nil, nil, serviceError(ctx, "fulcio", s.services.fulcio, err)
	}
	if s.root != nil {
		err = s.knowsIssuer(leaf)
	}
	if err == nil && s.accept != nil {
		err = s.accept(leaf)
	}
	if err != nil {
		return nil, nil, err
	}
	return key, []*x509.Certificate{leaf}, nil
}

func (s *Signer) requestCertificate(ctx context.Context, key *keypair, token string) (*x509.Certificate, error) {
	client := sgsign.NewFulcio(&sgsign.FulcioOptions{
		BaseURL:   strings.TrimSuffix(s.services.fulcio, "/"),
		Timeout:   -1, // the caller bounds each attempt
		Transport: transport{ctx, s.http},
	})
	der, err := client.GetCertificate(ctx, key, &sgsign.CertificateProviderOptions{IDToken: token})
	if err != nil {
		return nil, cause(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if pub, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || !pub.Equal(key.GetPublicKey()) {
		return nil, errors.New("the certificate is for another key")
	}
	return leaf, nil
}

// verify checks a keyless bundle against the trusted root, with all that the
// services have added. Whose identity it is does not matter here.
func (s *Signer) verify(b *protobundle.Bundle) error {
	entity, err := sgbundle.NewBundle(b)
	if err != nil {
		return err
	}
	options := []sgverify.VerifierOption{
		sgverify.WithTransparencyLog(len(s.services.logs)),
		sgverify.WithObserverTimestamps(1),
	}
	if n := len(s.services.tsas); n > 0 {
		options = append(options, sgverify.WithSignedTimestamps(n))
	}
	if len(s.root.CTLogs()) > 0 {
		options = append(options, sgverify.WithSignedCertificateTimestamps(1))
	}
	v, err := sgverify.NewVerifier(s.root, options...)
	if err != nil {
		return fmt.Errorf("verifier: %w", err)
	}
	_, err = v.Verify(entity, sgverify.NewPolicy(sgverify.WithoutArtifactUnsafe(), sgverify.WithoutIdentitiesUnsafe()))
	return err
}
