package cli

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/spf13/cobra"
	"github.com/youmark/pkcs8"

	"github.com/mcpsign/mcpsign/internal/pemfile"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// passwordVariable is the environment variable with the passphrase of keys.
const passwordVariable = "MCPSIGN_PASSWORD"

func (a *app) keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "key",
		Short:   "Make signing keys",
		Example: "  mcpsign key generate --out publisher.key",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("see: mcpsign key --help", "a command is needed: generate")
		},
	}
	var out string
	generate := &cobra.Command{
		Use:   "generate",
		Short: "Make an ECDSA P-256 key",
		Long: `Make an ECDSA P-256 key: PKCS#8 in PEM, mode 0600, encrypted if ` + passwordVariable + ` is
set. The public key is written beside it, with the suffix .pub.`,
		Example: "  mcpsign key generate --out publisher.key",
		Args:    args(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return a.generateKey(out) },
	}
	generate.Flags().StringVar(&out, "out", "mcpsign.key", "file for the private key; .pub is appended for the public one")
	cmd.AddCommand(generate)
	return cmd
}

func (a *app) generateKey(out string) error {
	for _, name := range []string{out, out + ".pub"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fail(ExitUsage, fmt.Errorf("%s is there already", lock.Visible(name)), "a key is never overwritten: choose another --out")
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := encodeKey(key, a.Getenv(passwordVariable))
	if err != nil {
		return err
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(key.Public())
	if err != nil {
		return err
	}
	id, err := verify.KeyID(key.Public())
	if err != nil {
		return err
	}
	if err := createFile(out, private, 0o600); err != nil {
		return err
	}
	if err := createFile(out+".pub", public, 0o644); err != nil {
		return err
	}
	return a.emit(form{
		document: func() any {
			return map[string]string{"key": out, "public": out + ".pub", "identity": "key:" + id.String()}
		},
		text: func(w io.Writer) { fmt.Fprintf(w, "key:%s\n", id) },
	})
}

// encodeKey returns the PEM of a key as PKCS#8, encrypted with the password if
// there is one: PBES2 with PBKDF2-HMAC-SHA-256 and AES-256-CBC, which OpenSSL
// reads.
func encodeKey(key *ecdsa.PrivateKey, password string) ([]byte, error) {
	if password == "" {
		return cryptoutils.MarshalPrivateKeyToPEM(key)
	}
	der, err := pkcs8.MarshalPrivateKey(key, []byte(password), &pkcs8.Opts{
		Cipher:  pkcs8.AES256CBC,
		KDFOpts: pkcs8.PBKDF2Opts{SaltSize: 16, IterationCount: 600_000, HMACHash: crypto.SHA256},
	})
	if err != nil {
		return nil, err
	}
	return cryptoutils.PEMEncode("ENCRYPTED PRIVATE KEY", der), nil
}

// readKey reads a private key in PEM: PKCS#8 or SEC 1, plain or encrypted with
// the passphrase of the environment.
func (a *app) readKey(name string) (crypto.Signer, error) {
	if err := checkKeyName(name); err != nil {
		return nil, err
	}
	data, err := readFile(name, maxTrustFile)
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	const want = "name a private key in PEM, PKCS #8 or SEC 1; make one: mcpsign key generate --out KEY"
	b, err := pemfile.One(data, pemfile.PrivateKey)
	if err != nil {
		return nil, pemFailure(ExitUsage, "private key ", name, err, want)
	}
	code, hint := ExitUsage, want
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(b.Encode(), func(bool) ([]byte, error) {
		if password := a.Getenv(passwordVariable); password != "" {
			hint = "check the passphrase in " + passwordVariable
			return []byte(password), nil
		}
		code, hint = ExitInput, "put the passphrase in "+passwordVariable
		return nil, errors.New("it is encrypted, and there is no passphrase")
	})
	if err != nil {
		return nil, fail(code, fmt.Errorf("private key %s: %w", lock.Visible(name), err), hint)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fail(ExitUsage, fmt.Errorf("private key %s: a key of type %T can't sign", lock.Visible(name), key), "")
	}
	return signer, nil
}

// createFile writes a file that must not be there yet.
func createFile(name string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
