package main

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

func writePKI(ts *testscript.TestScript, dir string, ca *sigtest.CA, leaf *sigtest.Leaf) {
	write(ts, dir+"leaf.key", sigtest.KeyPEM(leaf.Key))
	write(ts, dir+"leaf.pem", sigtest.CertPEM(leaf.Certificate()))
	write(ts, dir+"chain.pem", bytes.Join([][]byte{sigtest.CertPEM(leaf.Chain[1:]...), sigtest.CertPEM(ca.Certificate)}, nil))
	write(ts, dir+"roots.pem", sigtest.CertPEM(ca.Certificate))
}

// An issuerServer is a PKI that tells the status of its certificates on
// loopback.
type issuerServer struct {
	root, issuing *sigtest.CA
	leaf          *sigtest.Leaf
	ocsp          *sigtest.OCSP

	mu    sync.Mutex
	how   string // see answers
	asked []string
}

type issuersKey struct{}

// issuer reads "FOLDER URI" and does what pki does, but that the certificates
// name places on loopback where their status is told: /issuing.crl, /root.crl and
// /ocsp. ISSUER is where.
func issuer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: issuer FOLDER URI")
	}
	i := &issuerServer{root: sigtest.NewCA(args[0] + " root")}
	s := httptest.NewServer(i)
	ts.Defer(s.Close)
	i.issuing = i.root.Sub("issuing", sigtest.CRLAt(s.URL+"/root.crl"))
	i.leaf = i.issuing.Leaf(sigtest.P256(), sigtest.URI(args[1]), sigtest.CRLAt(s.URL+"/issuing.crl"), sigtest.OCSPAt(s.URL+"/ocsp"))
	i.ocsp = sigtest.NewOCSP(new(sigtest.Clock), i.issuing)
	ts.Value(issuersKey{}).(map[string]*issuerServer)[args[0]] = i
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o777))
	writePKI(ts, args[0]+"/", i.root, i.leaf)
	ts.Setenv("ISSUER", s.URL)
}

func find(ts *testscript.TestScript, name string) *issuerServer {
	i := ts.Value(issuersKey{}).(map[string]*issuerServer)[name]
	if i == nil {
		ts.Fatalf("there is no issuer %s", name)
	}
	return i
}

// answers reads "FOLDER HOW": from now on the issuer answers good, revoked (an
// hour ago), down (with 503), other (as a redirect to another origin), junk,
// large, nonce (a wrong one) or nononce. HOW may be "asked N" as well: it must
// have been asked that often since the last time.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: answers FOLDER HOW")
	}
	i := find(ts, args[0])
	i.mu.Lock()
	defer i.mu.Unlock()
	if args[1] == "asked" {
		if got := strings.Join(i.asked, " "); got != strings.Join(args[2:], " ") {
			ts.Fatalf("asked for %q", got)
		}
		i.asked = nil
		return
	}
	i.how = args[1]
	i.ocsp.WrongNonce, i.ocsp.NoNonce = i.how == "nonce", i.how == "nononce"
	if i.how == "revoked" {
		i.ocsp.Revoke(i.leaf.Certificate(), time.Now().Add(-time.Hour))
	}
}

// ServeHTTP tells the status of certificates.
func (i *issuerServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	how := i.how
	i.asked = append(i.asked, r.Method+r.URL.Path)
	i.mu.Unlock()
	now := time.Now()
	var revoked []*x509.Certificate
	if how == "revoked" {
		revoked = append(revoked, i.leaf.Certificate())
	}
	list := func(ca *sigtest.CA, cs ...*x509.Certificate) []byte {
		return ca.CRL(now.Add(-time.Minute), now.Add(time.Hour), now.Add(-time.Hour), cs...).Raw
	}
	switch {
	case how == "down":
		w.WriteHeader(http.StatusServiceUnavailable)
	case how == "other":
		http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+r.URL.Path+"?again", http.StatusFound)
	case how == "junk":
		w.Write([]byte("<html>not here</html>"))
	case how == "large":
		w.Write(append([]byte{0x30, 0x84, 1, 0, 0, 0}, make([]byte, 1<<24)...))
	case r.URL.Path == "/root.crl":
		w.Write(list(i.root))
	case r.URL.Path == "/issuing.crl":
		w.Write(list(i.issuing, revoked...))
	default:
		i.ocsp.ServeHTTP(w, r)
	}
}

// status reads "FILE FOLDER crl|root.crl|ocsp WORD...": the file gets what the
// issuer says, good for an hour, but as the words have it: pem, expired, delta,
// unknown, before (revoked an hour ago), after (in an hour).
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: status FILE FOLDER crl|root.crl|ocsp WORD...")
	}
	i := find(ts, args[1])
	has := func(word string) bool { return strings.Contains(" "+strings.Join(args[3:], " ")+" ", " "+word+" ") }
	from, till := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	if has("expired") {
		from, till = from.Add(-time.Hour), from.Add(-time.Second)
	}
	var at time.Time
	if has("before") {
		at = time.Now().Add(-time.Hour)
	} else if has("after") {
		at = time.Now().Add(time.Hour)
	}
	kind, der := "X509 CRL", []byte(nil)
	ca, subject := i.issuing, i.leaf.Certificate()
	switch args[2] {
	case "ocsp":
		kind = "OCSP RESPONSE"
		der = sigtest.OCSPAnswer{Issuer: ca, Responder: ca.Responder(), Serials: []*big.Int{subject.SerialNumber}, Unknown: has("unknown"),
			Revoked: at, ThisUpdate: from, NextUpdate: till}.DER()
	case "root.crl":
		ca, subject = i.root, i.issuing.Certificate
		fallthrough
	case "crl":
		der = ca.EditedCRL(func(l *x509.RevocationList) {
			l.ThisUpdate, l.NextUpdate = from, till
			if !at.IsZero() {
				l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: subject.SerialNumber, RevocationTime: at}}
			}
			if has("delta") {
				l.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}}
			}
		}).Raw
	default:
		ts.Fatalf("no status is called %s", args[2])
	}
	if has("pem") {
		der = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	write(ts, args[0], der)
}
