package pemfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each command that an error proposes is run, and what it writes is read.
func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		name, make string // make writes the file "in" by other means
		want       Kind
		err        string
	}{
		{"certificate in DER", `$CA && openssl x509 -in ca.pem -outform DER -out in`, Certificate, "is a certificate in DER"},
		{"certificate in DER for a key", `$CA && openssl x509 -in ca.pem -outform DER -out in`, PublicKey, "is a certificate in DER"},
		{"certificate for a key", `$CA && cp ca.pem in`, PublicKey, "a certificate (PEM block CERTIFICATE)"},
		{"certificate of OpenSSL", `$CA && openssl x509 -in ca.pem -trustout -out in`, Certificate, "PEM block TRUSTED CERTIFICATE"},
		{"certificates with a key", `$CA && cat ca.pem ca.key > in`, Certificate, "a private key (PEM block PRIVATE KEY)"},
		{"PKCS #7", `$CA && openssl crl2pkcs7 -nocrl -certfile ca.pem -out in`, Certificate, "a PKCS #7 container"},
		{"PKCS #7 in DER", `$CA && openssl crl2pkcs7 -nocrl -certfile ca.pem -outform DER -out in`, Certificate, "is a PKCS #7 container in DER"},
		{"PKCS #12 for certificates", `$CA && openssl pkcs12 -export -inkey ca.key -in ca.pem -passout pass:x -out in`, Certificate, "is a PKCS #12 container"},
		{"PKCS #12 for a key", `$CA && openssl pkcs12 -export -inkey ca.key -in ca.pem -passout pass:x -out in`, PrivateKey, "is a PKCS #12 container"},
		{"PKCS #12 for a public key", `$CA && openssl pkcs12 -export -inkey ca.key -in ca.pem -passout pass:x -out in`, PublicKey, "is a PKCS #12 container"},
		{"public key in DER", `$KEY && openssl pkey -in k -pubout -outform DER -out in`, PublicKey, "is a public key in DER"},
		{"private key in DER", `$KEY && openssl pkey -in k -outform DER -out in`, PrivateKey, "is a private key in DER"},
		{"private key in DER for a public key", `$KEY && openssl pkey -in k -outform DER -out in`, PublicKey, "is a private key in DER"},
		{"private key for a public key", `$KEY && cp k in`, PublicKey, "a private key (PEM block PRIVATE KEY)"},
		{"PBES1", `$KEY && openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in k -passout pass:x -out in`, PrivateKey, "encrypted with PBES1"},
		{"PBES1 with DES", `$KEY && openssl pkcs8 -provider legacy -provider default -topk8 -v1 PBE-MD5-DES -in k -passout pass:x -out in`, PrivateKey, "encrypted with PBES1"},
		{"UTF-16", `$CA && iconv -f UTF-8 -t UTF-16 ca.pem > in`, Certificate, "is text in UTF-16"},
		{"OpenSSH, public Ed25519", `$SSH ed25519 -f s && cp s.pub in`, PublicKey, "is a public key of OpenSSH"},
		{"OpenSSH, public ECDSA", `$SSH ecdsa -f s && cp s.pub in`, PublicKey, "is a public key of OpenSSH"},
		{"OpenSSH, private ECDSA", `$SSH ecdsa -f in`, PrivateKey, "a private key of OpenSSH"},
		{"OpenSSH, private ECDSA for a public key", `$SSH ecdsa -f in`, PublicKey, "a private key of OpenSSH"},
		{"OpenSSH, private Ed25519 for a public key", `$SSH ed25519 -f in`, PublicKey, "a private key of OpenSSH"},
		{"RFC 4716", `$SSH ecdsa -f s && ssh-keygen -e -f s > in`, PublicKey, "in the format of SSH (RFC 4716)"},
		{"minisign", `openssl genpkey -algorithm ed25519 -out k && { echo 'untrusted comment: minisign public key'; { printf 'Ed12345678'; openssl pkey -in k -pubout -outform DER | tail -c 32; } | base64 -w0; echo; } > in`, PublicKey, "is a key of minisign or signify"},
		{"JWK, public", `$KEY && node -e "console.log(JSON.stringify(require('crypto').createPublicKey(require('fs').readFileSync('k')).export({format:'jwk'})))" > in`, PublicKey, "is a JSON Web Key"},
		{"JWK, private", `$KEY && node -e "console.log(JSON.stringify(require('crypto').createPrivateKey(require('fs').readFileSync('k')).export({format:'jwk'})))" > in`, PrivateKey, "is a JSON Web Key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{"sh", "openssl", "ssh-keygen", "node", "iconv", "base64"} {
				if _, err := exec.LookPath(tool); err != nil && (strings.Contains(tt.make, tool) || tool == "ssh-keygen" && strings.Contains(tt.make, "$SSH") || tool == "sh" || tool == "openssl") {
					t.Skipf("needs %s", tool)
				}
			}
			dir := t.TempDir()
			shell(t, dir, strings.NewReplacer(
				"$KEY", "openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:P-256 -out k",
				"$CA", "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -keyout ca.key -out ca.pem",
				"$SSH", "ssh-keygen -q -N '' -t",
			).Replace(tt.make))
			data := read(t, filepath.Join(dir, "in"))
			_, err := Read(data, tt.want)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error = %v, want %q", err, tt.err)
			}
			command := e.Command("in", "'out put'")
			if strings.Count(command, "'out put'") == 0 || !strings.Contains(command, "in") {
				t.Fatalf("command = %q", command)
			}
			shell(t, dir, command)
			if _, err := One(read(t, filepath.Join(dir, "out put")), tt.want); err != nil {
				t.Errorf("after %s: %v", command, err)
			}
		})
	}
}

// shell runs a command. A passphrase that OpenSSL asks for is x.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	for _, name := range []string{"openssl pkcs12", "openssl pkey"} { // they ask the terminal otherwise
		if strings.Contains(command, "-export") || !strings.Contains(command, "{") && !strings.Contains(command, "pkcs12 -in") && !strings.Contains(command, "-aes256") {
			break
		}
		command = strings.ReplaceAll(command, name, name+" -passin pass:x")
	}
	if strings.Contains(command, "-nocerts") || strings.Contains(command, "-aes256") {
		command += " -passout pass:x"
	}
	command = strings.ReplaceAll(command, "ssh-keygen -p ", "ssh-keygen -p -N '' ")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What no program converts is named, and no command with it.
func TestNoCommand(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Kind
		err  string
	}{
		{"untrusted comment: minisign encrypted secret key\nRWRTY0Iy\n", PrivateKey, "is a key of minisign or signify, want a private key in PEM"},
		{"ssh-ed25519 AAAA a@example\n", PrivateKey, "is a public key of OpenSSH, want a private key in PEM"},
		{`{"kty": "EC", "x": "a"}`, PrivateKey, "is a JSON Web Key, want a private key in PEM"},
		{"\x30\x03\x02\x01\x07", PrivateKey, "is DER of an unknown kind, want a private key in PEM"},
	} {
		_, err := Read([]byte(tt.text), tt.want)
		var e *Error
		if !errors.As(err, &e) || err.Error() != tt.err || e.Command("in", "out") != "" {
			t.Errorf("error = %v, command %q", err, e.Command("in", "out"))
		}
	}
}
