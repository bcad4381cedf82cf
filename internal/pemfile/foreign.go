package pemfile

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Commands that convert what is not PEM, or is PEM of another kind. An Ed25519
// key of SSH or minisign is its last 32 bytes: what stands before them in
// PKIX DER is written by printf. Not every ssh-keygen can export one.
const (
	fromSSH     = "ssh-keygen -e -m PKCS8 -f {in} > {out}"
	fromSSH2    = "ssh-keygen -i -f {in} > {out}.ssh && ssh-keygen -e -m PKCS8 -f {out}.ssh > {out}"
	ed25519     = ` | base64 -d | tail -c 32; } | openssl pkey -pubin -inform DER -out {out}`
	prefix      = `{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'; `
	fromSSHEd   = prefix + `cut -d' ' -f2 {in}` + ed25519
	fromSignify = prefix + `sed -n 2p {in}` + ed25519
	fromUTF16   = "iconv -f UTF-16 -t UTF-8 {in} > {out}"
	fromOpenSSH = "cp {in} {out} && ssh-keygen -p -m PKCS8 -f {out}"
	allCerts    = "openssl crl2pkcs7 -nocrl -certfile {in} | openssl pkcs7 -print_certs -out {out}"
	fromJWK     = `node -e "const c=require('crypto'),f=require('fs');f.writeFileSync(process.argv[2],c.%s({key:JSON.parse(f.readFileSync(process.argv[1])),format:'jwk'}).export({type:'%s',format:'pem'}),{mode:0o600})" {in} {out}`
)

// other is the error for a block of another type than is wanted.
func other(b Block, want Kind) *Error {
	e := &Error{Line: b.Line, want: want}
	what := ""
	switch {
	case strings.HasSuffix(b.Type, "PRIVATE KEY"):
		e.Found, what = PrivateKey, PrivateKey.name()
		if want == PublicKey {
			e.command = "openssl pkey -in {in} -pubout -out {out}"
		}
		if want == Certificate {
			e.command = allCerts
		}
		if b.Type == "OPENSSH PRIVATE KEY" {
			what = "a private key of OpenSSH"
			e.command = openSSH(b.Bytes, want)
		}
	case strings.HasSuffix(b.Type, "PUBLIC KEY"):
		e.Found, what = PublicKey, PublicKey.name()
	case strings.HasPrefix(b.Type, "PGP "):
		what = "OpenPGP, which mcpsign does not read,"
	case b.Type == "TRUSTED CERTIFICATE" || b.Type == "X509 CERTIFICATE" || b.Type == "CERTIFICATE":
		e.Found, what = Certificate, Certificate.name()
		switch want {
		case Certificate:
			what, e.command = "a certificate in a format of OpenSSL's own", "openssl x509 -in {in} -out {out}"
		case PublicKey:
			e.command = "openssl x509 -in {in} -pubkey -noout -out {out}"
		}
	case b.Type == "PKCS7" || b.Type == "CMS":
		what = "a PKCS #7 container"
		if want == Certificate {
			e.command = "openssl pkcs7 -in {in} -print_certs -out {out}"
		}
	case b.Type == "X509 CRL":
		e.Found, what = List, List.name()
	default:
		what = "something else"
	}
	wanted := want.name()
	if e.Found == want {
		wanted += " as PEM block " + want.types()[0]
	}
	e.err = fmt.Errorf("%s (PEM block %s), want %s", what, b.Type, wanted)
	return e
}

// openSSH returns the command for a private key of OpenSSH, whose public half
// stands in the clear in it. Older programs convert no Ed25519 key.
func openSSH(data []byte, want Kind) string {
	switch ed := bytes.Contains(data, []byte("ssh-ed25519")); {
	case want == PublicKey && ed:
		return "ssh-keygen -y -f {in} > {out}.ssh && " + strings.ReplaceAll(fromSSHEd, "{in}", "{out}.ssh")
	case want == PublicKey:
		return fromSSH
	case want == PrivateKey && !ed:
		return fromOpenSSH
	}
	return ""
}

// The encryption of keys that is read (RFC 8018), and what PKCS #7 and PKCS #12
// containers hold.
var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSigned = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
)

// encryptedKey is an EncryptedPrivateKeyInfo (RFC 5958 section 3).
type encryptedKey struct {
	Algorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	Data []byte
}

// unreadable returns an error for a block of the right type whose content
// nothing here decrypts.
func unreadable(b Block) error {
	if b.Type != "ENCRYPTED PRIVATE KEY" {
		return nil
	}
	var k encryptedKey
	if _, err := asn1.Unmarshal(b.Bytes, &k); err != nil {
		return b.Fail(errors.New("the encrypted private key can't be parsed"))
	}
	if !k.Algorithm.ID.Equal(oidPBES2) {
		return &Error{Line: b.Line, Found: PrivateKey, want: PrivateKey, err: errors.New("the private key is encrypted with PBES1, which is too weak, want PBES2"),
			command: "openssl pkey -provider legacy -provider default -in {in} -aes256 -out {out}"}
	}
	return nil
}

// foreign is the error for a file without a PEM block.
func foreign(data []byte, want Kind) *Error {
	trimmed := strings.TrimSpace(string(withoutMark(data)))
	e := &Error{want: want}
	what := ""
	switch {
	case len(data) == 0:
		return &Error{err: errors.New("is empty")}
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		what, e.command = "text in UTF-16", fromUTF16
	case data[0] == 0x30:
		e.Found, what, e.command = der(data, want)
	case strings.HasPrefix(trimmed, "untrusted comment:"):
		what, e.command = "a key of minisign or signify", signify(trimmed, want)
	case strings.HasPrefix(trimmed, "{") && strings.Contains(trimmed, `"kty"`):
		what = "a JSON Web Key"
		if want == PublicKey {
			e.command = fmt.Sprintf(fromJWK, "createPublicKey", "spki")
		} else if want == PrivateKey && strings.Contains(trimmed, `"d"`) {
			e.command = fmt.Sprintf(fromJWK, "createPrivateKey", "pkcs8")
		}
	case strings.HasPrefix(trimmed, "ssh-ed25519 "):
		e.Found, what = PublicKey, "a public key of OpenSSH"
		if want == PublicKey {
			e.command = fromSSHEd
		}
	case strings.HasPrefix(trimmed, "ssh-") || strings.HasPrefix(trimmed, "ecdsa-sha2-"):
		e.Found, what = PublicKey, "a public key of OpenSSH"
		if want == PublicKey {
			e.command = fromSSH
		}
	default:
		e.err = fmt.Errorf("has no PEM block, want %s in PEM", want.name())
		return e
	}
	e.err = fmt.Errorf("is %s, want %s in PEM", what, want.name())
	return e
}

// signify returns the command for a public key of minisign or signify. Their
// private keys are encrypted in a form of their own.
func signify(text string, want Kind) string {
	_, key, _ := strings.Cut(text, "\n")
	key, _, _ = strings.Cut(key, "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
	if want == PublicKey && err == nil && len(raw) == 42 && string(raw[:2]) == "Ed" {
		return fromSignify
	}
	return ""
}

// der returns what DER is, and the command that makes what is wanted of it.
func der(data []byte, want Kind) (found Kind, what, command string) {
	var commands map[Kind]string
	switch {
	case parses(data, x509.ParseCertificate):
		found, what = Certificate, "a certificate in DER"
		commands = map[Kind]string{
			Certificate: "openssl x509 -inform DER -in {in} -out {out}",
			PublicKey:   "openssl x509 -inform DER -in {in} -pubkey -noout -out {out}",
		}
	case parses(data, x509.ParseRevocationList):
		found, what = List, "a revocation list in DER"
	case parses(data, x509.ParsePKIXPublicKey):
		found, what = PublicKey, "a public key in DER"
		commands = map[Kind]string{PublicKey: "openssl pkey -pubin -inform DER -in {in} -out {out}"}
	case parses(data, x509.ParsePKCS8PrivateKey), parses(data, x509.ParseECPrivateKey), parses(data, x509.ParsePKCS1PrivateKey), encrypted(data):
		found, what = PrivateKey, "a private key in DER"
		commands = map[Kind]string{
			PrivateKey: "openssl pkey -inform DER -in {in} -out {out}",
			PublicKey:  "openssl pkey -inform DER -in {in} -pubout -out {out}",
		}
	case pkcs12(data):
		what = "a PKCS #12 container"
		commands = map[Kind]string{
			Certificate: "openssl pkcs12 -in {in} -nokeys -out {out}",
			PrivateKey:  "openssl pkcs12 -in {in} -nocerts -out {out}",
			PublicKey:   "openssl pkcs12 -in {in} -nokeys -clcerts | openssl x509 -pubkey -noout -out {out}",
		}
	case pkcs7(data):
		what = "a PKCS #7 container in DER"
		commands = map[Kind]string{Certificate: "openssl pkcs7 -inform DER -in {in} -print_certs -out {out}"}
	default:
		what = "DER of an unknown kind"
	}
	return found, what, commands[want]
}

func parses[T any](data []byte, parse func([]byte) (T, error)) bool {
	_, err := parse(data)
	return err == nil
}

func encrypted(data []byte) bool {
	var k encryptedKey
	rest, err := asn1.Unmarshal(data, &k)
	return err == nil && len(rest) == 0 && len(k.Data) > 0
}

func pkcs12(data []byte) bool {
	var c struct {
		Version int
		Content struct{ ID asn1.ObjectIdentifier }
	}
	_, err := asn1.Unmarshal(data, &c)
	return err == nil && c.Version == 3 && (c.Content.ID.Equal(oidData) || c.Content.ID.Equal(oidSigned))
}

func pkcs7(data []byte) bool {
	var c struct{ ID asn1.ObjectIdentifier }
	_, err := asn1.Unmarshal(data, &c)
	return err == nil && c.ID.Equal(oidSigned)
}

// Encode returns the block in PEM again.
func (b Block) Encode() []byte { return pem.EncodeToMemory(&b.Block) }
