package pemfile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

var when = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func certificate() string { return string(sigtest.CertPEM(sigtest.NewCA("acme").Certificate)) }

func list() string {
	return string(sigtest.CRLPEM(sigtest.NewCA("acme").CRL(when, when.Add(time.Hour), when)))
}

// What stands around and between blocks, and how lines end, changes nothing.
func TestReadOver(t *testing.T) {
	cert := certificate()
	const params = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
	for _, text := range []string{
		cert + cert,
		"# first\n" + cert + "\nsubject=O = Acme\n\n" + cert + "# renewed: BEGIN of 2026, WEEK-END\n",
		"\ufeff" + cert + cert,
		strings.ReplaceAll(cert+cert, "\n", "\r\n"),
		strings.ReplaceAll(cert+cert, "\n", " \t\n"),
		strings.TrimSuffix(cert+cert, "\n"),
		params + cert + params + cert,
	} {
		blocks, err := Read([]byte(text), Certificate)
		if err != nil || len(blocks) != 2 {
			t.Errorf("%d blocks, %v of:\n%s", len(blocks), err, text)
			continue
		}
		for _, b := range blocks {
			if _, err := b.Certificate(); err != nil {
				t.Errorf("%v", err)
			}
			if got := strings.Split(text, "\n")[b.Line-1]; !strings.Contains(got, "BEGIN CERTIFICATE") {
				t.Errorf("line %d is %q", b.Line, got)
			}
		}
	}
}

// The last line of each block here is line 5 or lower; errors name the line of
// the block that is wrong.
func TestRefused(t *testing.T) {
	cert, key := certificate(), sigtest.P256()
	private, public := string(sigtest.KeyPEM(key)), string(sigtest.PublicPEM(key.Public()))
	second := strings.Count(cert, "\n") + 1
	damaged := strings.Replace(cert, "\nMII", "\nM!I", 1)
	if damaged == cert {
		t.Fatal("the certificate is as it was")
	}
	for _, tt := range []struct {
		name, text string
		want       Kind
		line       int
		err        string
	}{
		{"damaged first", damaged + cert, Certificate, 1, "block CERTIFICATE can't be decoded"},
		{"damaged second", cert + damaged, Certificate, second, "block CERTIFICATE can't be decoded"},
		{"indented", "  -----BEGIN X509 CRL-----\n  MIHo\n  -----END X509 CRL-----\n" + list(), List, 1, "must be alone on its line"},
		{"quoted", "> -----BEGIN CERTIFICATE-----\n" + cert, Certificate, 1, "must be alone on its line"},
		{"glued", strings.TrimSuffix(cert, "\n") + cert, Certificate, second - 1, "must be alone on its line"},
		{"four dashes", strings.Replace(cert, "-----BEGIN", "----BEGIN", 1) + cert, Certificate, 1, "must be alone on its line"},
		{"em dashes", strings.Replace(cert, "-----BEGIN", "\u2014\u2014BEGIN", 1) + cert, Certificate, 1, "must be alone on its line"},
		{"lower case type", strings.Replace(cert, "BEGIN CERTIFICATE", "BEGIN certificate", 1) + cert, Certificate, 1, "must be alone on its line"},
		{"no BEGIN", cert[strings.Index(cert, "\n")+1:] + cert, Certificate, second - 2, "did not begin"},
		{"no END", cert[:strings.Index(cert, "-----END")] + cert, Certificate, 1, "has no END line before the next block on line"},
		{"no last END", cert + cert[:strings.Index(cert, "-----END")], Certificate, second, "block CERTIFICATE has no END line"},
		{"other END", strings.Replace(cert, "END CERTIFICATE", "END X509 CRL", 1), Certificate, second - 1, "block X509 CRL that did not begin"},
		{"empty block", cert + "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", Certificate, second, "damaged or empty"},
		{"two public keys", public + public, PublicKey, 5, "more than one public key"},
		{"two private keys", private + private, PrivateKey, 6, "more than one private key"},
		{"private for public", private, PublicKey, 1, "a private key (PEM block PRIVATE KEY), want a public key"},
		{"public for private", public, PrivateKey, 1, "a public key (PEM block PUBLIC KEY), want a private key"},
		{"certificate for key", cert, PublicKey, 1, "a certificate (PEM block CERTIFICATE), want a public key"},
		{"key among certificates", cert + private, Certificate, second, "a private key (PEM block PRIVATE KEY), want a certificate"},
		{"certificate for list", cert, List, 1, "a certificate (PEM block CERTIFICATE), want a revocation list"},
		{"list for certificate", list(), Certificate, 1, "a revocation list (PEM block X509 CRL), want a certificate"},
		{"OCSP for list", "-----BEGIN OCSP RESPONSE-----\nMAMKAQE=\n-----END OCSP RESPONSE-----\n", List, 1, "something else (PEM block OCSP RESPONSE), want a revocation list"},
		{"parameters only", "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n", PrivateKey, 1, "parameters of a key only"},
		{"OpenPGP", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZQ==\n-----END PGP PUBLIC KEY BLOCK-----\n", PublicKey, 1, "OpenPGP"},
		{"too many", strings.Repeat(cert, MaxBlocks+1), Certificate, MaxBlocks*(second-1) + 1, "has more than 100 PEM blocks"},
		{"empty", "", Certificate, 0, "is empty"},
		{"text", "hello\n", Certificate, 0, "has no PEM block, want a certificate in PEM"},
		{"one line", strings.ReplaceAll(cert, "\n", "\r"), Certificate, 1, "must be alone on its line"},
		{"escaped", "-----BEGIN \x1b[31m\u202eCERTIFICATE-----\n", Certificate, 1, `\x1b[31m\u202e`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blocks, err := Read([]byte(tt.text), tt.want)
			var e *Error
			if blocks != nil || !errors.As(err, &e) || e.Line != tt.line || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d blocks, error %v, want line %d and %q", len(blocks), err, tt.line, tt.err)
			}
		})
	}
}

func TestOne(t *testing.T) {
	if b, err := One([]byte(list()), List); err != nil || b.Type != "X509 CRL" {
		t.Errorf("%v, %v", b.Type, err)
	}
	if _, err := One([]byte(list()+list()), List); err == nil || !strings.Contains(err.Error(), "more than one revocation list:") {
		t.Errorf("error = %v", err)
	}
}

func TestParse(t *testing.T) {
	b := Block{Line: 7}
	b.Bytes = []byte("x")
	if _, err := b.Certificate(); err == nil || !strings.HasPrefix(err.Error(), "line 7: the certificate can't be parsed") {
		t.Errorf("error = %v", err)
	}
	if _, err := b.PublicKey(); err == nil || !strings.HasPrefix(err.Error(), "line 7: the public key can't be parsed") {
		t.Errorf("error = %v", err)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		list(): true, "\ufeff# a list\n" + list(): true, " -----BEGIN X509 CRL": true,
		"": false, "{}": false, " {\n\"-----BEGIN X509 CRL-----\": 1}": false, "x": false,
	} {
		if Is([]byte(text)) != want {
			t.Errorf("Is(%q) = %t", text, !want)
		}
	}
}

// Whatever happens to one byte of a file with two blocks, never is one of them
// left out in silence.
func TestNothingIsLeftOut(t *testing.T) {
	text := []byte("# lists\n" + list() + "\n" + list())
	r := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		for _, c := range []byte{'!', ' ', '\n', '-', 'A', byte(r.Uint32())} {
			changed := bytes.Clone(text)
			changed[i] = c
			if blocks, err := Read(changed, List); err == nil && len(blocks) != 2 {
				t.Fatalf("%d blocks with byte %d changed to %q", len(blocks), i, c)
			}
		}
		if blocks, err := Read(append(bytes.Clone(text[:i]), text[i+1:]...), List); err == nil && len(blocks) != 2 {
			t.Fatalf("%d blocks without byte %d", len(blocks), i)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(list()))
	f.Add([]byte("\ufeff-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"))
	f.Add([]byte{0x30, 0x03, 2, 1, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		for want := Certificate; want <= Status; want++ {
			blocks, err := Read(data, want)
			var e *Error
			if err == nil && len(blocks) == 0 || err != nil && (!errors.As(err, &e) || e.Error() == "") {
				t.Fatalf("%d blocks, error %v", len(blocks), err)
			}
			begins := bytes.Count(data, []byte("-----BEGIN ")) - bytes.Count(data, []byte("-----BEGIN EC PARAMETERS-----"))
			if err == nil && len(blocks) != begins {
				t.Fatalf("%d blocks of %d BEGIN lines", len(blocks), begins)
			}
		}
	})
}
