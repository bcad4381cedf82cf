package sign_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// weather is the statement that the examples sign.
func weather() *attest.Statement {
	listing, err := lock.ParseListing([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[
		{"name":"get_forecast","description":"Forecast for a city","inputSchema":{"type":"object"}}]}}`))
	if err != nil {
		log.Fatal(err)
	}
	st, err := attest.Definitions(listing, attest.Release{
		Server: "io.github.acme/weather", Sequence: 1796040000, Kinds: []lock.Kind{lock.Tool},
		IssuedAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	})
	if err != nil {
		log.Fatal(err)
	}
	return st
}

// show prints what the payload of a bundle is, and what verifies it.
func show(bundle []byte, st *attest.Statement) {
	var b struct {
		MediaType            string
		DSSEEnvelope         struct{ Payload []byte }
		VerificationMaterial map[string]json.RawMessage
	}
	if err := json.Unmarshal(bundle, &b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.MediaType, string(b.DSSEEnvelope.Payload) == string(st.Bytes()))
	for _, name := range []string{"publicKey", "certificate", "x509CertificateChain", "tlogEntries", "timestampVerificationData"} {
		if _, ok := b.VerificationMaterial[name]; ok {
			fmt.Println(name)
		}
	}
}

// A bare key needs no service.
func ExampleKey() {
	st := weather()
	signer, err := sign.Key(sigtest.Ed25519(), sign.Services{})
	if err != nil {
		log.Fatal(err)
	}
	bundle, err := signer.Sign(context.Background(), st)
	if err != nil {
		log.Fatal(err)
	}
	show(bundle, st)
	// Output:
	// application/vnd.dev.sigstore.bundle.v0.3+json true
	// publicKey
}

// A certificate of one's own PKI goes with a timestamp.
func ExamplePKI() {
	services := sigtest.New()
	key := sigtest.P256() // or any crypto.Signer: a key in an HSM, a KMS
	leaf := sigtest.NewCA("acme root").Sub("acme issuing").Leaf(key, sigtest.URI("https://acme.example/release"))

	st := weather()
	signer, err := sign.PKI(key, leaf.Chain, sign.Services{TSA: services.TSAURL(), Client: services.Client()})
	if err != nil {
		log.Fatal(err)
	}
	bundle, err := signer.Sign(context.Background(), st)
	if err != nil {
		log.Fatal(err)
	}
	show(bundle, st)
	// Output:
	// application/vnd.dev.sigstore.bundle.v0.3+json true
	// x509CertificateChain
	// timestampVerificationData
}

// In CI, the identity of the job signs.
func ExampleKeyless() {
	services := sigtest.New()
	token := services.Fulcio.Source(sigtest.GitHub("acme/weather-mcp", ".github/workflows/release.yml", "refs/tags/v1.4.2"))

	st := weather()
	signer, err := sign.Keyless(token, sign.Services{
		SigningConfig: services.SigningConfig(sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA),
		TrustedRoot:   services.TrustedRoot(),
		Client:        services.Client(),
		Now:           time.Now(),
	})
	if err != nil {
		log.Fatal(err)
	}
	bundle, err := signer.Sign(context.Background(), st)
	if err != nil {
		log.Fatal(err)
	}
	show(bundle, st)
	// Output:
	// application/vnd.dev.sigstore.bundle.v0.3+json true
	// certificate
	// tlogEntries
	// timestampVerificationData
}
