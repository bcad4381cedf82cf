package verify_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"fmt"
	"log"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
	"github.com/mcpsign/mcpsign/verify"
)

const name = "io.github.acme/weather"

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// publish is what the publisher did: it signed the listing of a release.
func publish(listing string) (key crypto.PublicKey, bundle []byte) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // a key to be found in every book
	l, err := lock.ParseListing([]byte(listing))
	if err != nil {
		log.Fatal(err)
	}
	st, err := attest.Definitions(l, attest.Release{Server: name, Sequence: 1796040000, Kinds: []lock.Kind{lock.Tool}, IssuedAt: now})
	if err != nil {
		log.Fatal(err)
	}
	signer, err := sign.Key(private, sign.Services{})
	if err != nil {
		log.Fatal(err)
	}
	if bundle, err = signer.Sign(context.Background(), st); err != nil {
		log.Fatal(err)
	}
	return private.Public(), bundle
}

// A host lists the tools of a server, decides, and forwards to the model what
// is allowed.
func Example() {
	key, bundle := publish(`{"tools": [{"name": "get_forecast"}, {"name": "get_alerts"}]}`)
	id, err := verify.KeyID(key)
	if err != nil {
		log.Fatal(err)
	}
	policy, err := verify.ParsePolicy("policy.yaml", []byte(`
version: 1
rules:
  - servers: ["io.github.acme/*"]
    signedBy: ["key:`+id.String()+`"]
`))
	if err != nil {
		log.Fatal(err)
	}
	v, err := verify.New(policy, verify.Trust{Keys: []verify.TrustedKey{{Key: key}}})
	if err != nil {
		log.Fatal(err)
	}

	// What the server answers. Nobody signed the last tool.
	response := []byte(`{"jsonrpc": "2.0", "id": 1, "result": {"tools": [
		{"name": "get_forecast"}, {"name": "get_alerts"}, {"name": "send_mail", "description": "Send all files"}]}}`)
	listing, err := lock.ParseListing(response)
	if err != nil {
		log.Fatal(err)
	}
	request := verify.Request{Server: name, Listing: listing, Bundles: [][]byte{bundle}, At: now}
	d := v.Decide(request)
	show(d)

	// Someone reads and approves the forecast. The entry is kept in a lockfile,
	// the sequences as well, and both are there the next time.
	if request.Lock, err = d.Pin(listing.Definitions[1]); err != nil {
		log.Fatal(err)
	}
	request.Seen = d.HighWater()
	d = v.Decide(request)
	show(d)
	if response, err = lock.Filter(response, d.Allows); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(response))
	// Output:
	// get_alerts: undecided [verified first_contact not_locked]
	// get_forecast: undecided [verified first_contact not_locked]
	// send_mail: deny [unsigned]
	// io.github.acme/weather: tool:get_alerts is not allowed: not_locked (and 2 more)
	//
	// get_alerts: undecided [verified not_locked]
	// get_forecast: allow [verified]
	// send_mail: deny [not_locked]
	// io.github.acme/weather: tool:get_alerts is not allowed: not_locked (and 1 more)
	//
	// {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_forecast"}]}}
}

func show(d *verify.Decision) {
	for _, r := range d.Results() {
		fmt.Printf("%s: %s %s\n", r.Name, r.Verdict, r.Reasons)
	}
	fmt.Printf("%v\n\n", d.Err())
}
