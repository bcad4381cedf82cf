package sigtest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
)

// A Fulcio issues certificates of ten minutes to whoever has one of its own
// tokens and proves to have the key. It plays the OIDC issuer as well: any
// issuer named in the claims.
type Fulcio struct {
	service
	Clock *Clock
	CA    *CA    // the root
	Sub   *CA    // the intermediate that issues
	CTLog *CTLog // nil: certificates without SCTs

	// OtherKey makes it certify a key of its own.
	OtherKey bool
	// Edit, if not nil, changes the certificates before they are issued.
	Edit Edit

	secret []byte // authenticates tokens
}

// NewFulcio returns a Fulcio that goes by c, with a CT log.
func NewFulcio(c *Clock) *Fulcio {
	root := NewCA("fulcio root")
	f := &Fulcio{
		Clock: c, CA: root, Sub: root.Sub("fulcio intermediate", EKU(x509.ExtKeyUsageCodeSigning)),
		CTLog: NewCTLog(c), secret: make([]byte, 32),
	}
	rand.Read(f.secret)
	return f
}

var b64 = base64.RawURLEncoding

// Token returns a JWT for the identity, good for five minutes.
func (f *Fulcio) Token(id Claims) string {
	claims := Claims{"aud": "sigstore", "exp": f.Clock.Now().Add(5 * time.Minute).Unix()}
	for k, v := range id {
		claims[k] = v
	}
	body := b64.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64.EncodeToString(must(json.Marshal(claims)))
	return body + "." + b64.EncodeToString(f.mac(body))
}

// Source returns a function that gives tokens for the identity.
func (f *Fulcio) Source(id Claims) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return f.Token(id), nil }
}

func (f *Fulcio) mac(body string) []byte {
	m := hmac.New(sha256.New, f.secret)
	m.Write([]byte(body))
	return m.Sum(nil)
}

func (f *Fulcio) parseToken(token string) (Claims, error) {
	i := strings.LastIndexByte(token, '.')
	if i < 0 {
		return nil, errors.New("not a JWT")
	}
	mac, err := b64.DecodeString(token[i+1:])
	if err != nil || !hmac.Equal(mac, f.mac(token[:i])) {
		return nil, errors.New("the token is not authentic")
	}
	_, body, _ := strings.Cut(token[:i], ".")
	data, err := b64.DecodeString(body)
	if err != nil {
		return nil, err
	}
	var c Claims
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if exp, _ := c["exp"].(float64); c["aud"] != "sigstore" || int64(exp) < f.Clock.Now().Unix() {
		return nil, errors.New("the token is for somebody else, or expired")
	}
	return c, nil
}

// ServeHTTP answers requests for certificates (API v2).
func (f *Fulcio) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.serve(w, r, f.answer) }

func (f *Fulcio) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/v2/signingCert" {
		http.NotFound(w, r)
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims, err := f.parseToken(token)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	pub, err := parseCertRequest(r.Body, claims.subject())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	leaf, err := f.issue(pub, claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kind := "signedCertificateEmbeddedSct"
	if f.CTLog == nil {
		kind = "signedCertificateDetachedSct"
	}
	chain := []string{string(CertPEM(leaf)), string(CertPEM(f.Sub.Certificate)), string(CertPEM(f.CA.Certificate))}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{kind: map[string]any{"chain": map[string]any{"certificates": chain}}})
}

// parseCertRequest returns the key of a request whose proof of possession is a
// signature over subject.
func parseCertRequest(r io.Reader, subject string) (crypto.PublicKey, error) {
	var req struct {
		PublicKeyRequest struct {
			PublicKey struct {
				Content string `json:"content"`
			} `json:"publicKey"`
			ProofOfPossession []byte `json:"proofOfPossession"`
		} `json:"publicKeyRequest"`
	}
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&req); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(req.PublicKeyRequest.PublicKey.Content))
	if block == nil {
		return nil, errors.New("no public key")
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	v, err := signature.LoadDefaultVerifier(pub)
	if err != nil {
		return nil, err
	}
	return pub, v.VerifySignature(bytes.NewReader(req.PublicKeyRequest.ProofOfPossession), strings.NewReader(subject))
}

func (f *Fulcio) issue(pub crypto.PublicKey, claims Claims) (*x509.Certificate, error) {
	if f.OtherKey {
		pub = P256().Public()
	}
	now := f.Clock.Now()
	t := endEntity()
	t.SerialNumber = must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)))
	t.NotBefore, t.NotAfter = now, now.Add(10*time.Minute)
	if err := claims.certify(t); err != nil {
		return nil, err
	}
	if f.Edit != nil {
		f.Edit(t)
	}
	if f.CTLog != nil {
		t = f.CTLog.embed(f.Sub, pub, t)
	}
	return x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, f.Sub.Certificate, pub, f.Sub.key)))
}
