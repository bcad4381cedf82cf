package attest_test

import (
	"fmt"
	"log"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A verifier asks a statement for what it needs: each kind answers for itself
// alone.
func ExampleParseAny() {
	echo, err := lock.ParseDefinition(lock.Tool, []byte(`{"name": "echo", "inputSchema": {"type": "object"}}`))
	if err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	approval, err := attest.Approve([]lock.Definition{echo}, attest.Approval{
		Server: "acme/echo", Audience: "prod.corp.example", IssuedAt: now, ExpiresAt: now.AddDate(0, 6, 0),
	})
	if err != nil {
		log.Fatal(err)
	}
	list, err := attest.Revoke(attest.Revocation{
		Servers: []string{"acme/echo"}, Number: 1, IssuedAt: now, NextUpdate: now.AddDate(0, 0, 7),
		Entries: []attest.Revoked{{Statement: approval.Digest(), Reason: "approved by mistake"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	scan, err := attest.Foreign([]lock.Definition{echo}, "https://scanner.example/result/v1", []byte(`{"findings": {"high": 0}}`))
	if err != nil {
		log.Fatal(err)
	}

	// The payloads of three verified envelopes.
	for _, payload := range [][]byte{approval.Bytes(), list.Bytes(), scan.Bytes()} {
		st, err := attest.ParseAny(payload)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(st.PredicateType())
		if a, ok := st.Approval(); ok {
			ours := a.Server == "acme/echo" && a.Audience == "prod.corp.example" && now.Before(a.ExpiresAt)
			fmt.Println("approves:", ours && st.Approves(attest.Subject{Kind: echo.Kind(), Name: echo.Name(), Digest: echo.Digest()}))
		}
		if reason, ok := st.RevokesStatement("acme/echo", approval.Digest()); ok {
			fmt.Println("revoked:", reason)
		}
		if p, ok := st.Foreign(); ok {
			high, err := p.Value("/findings/high")
			fmt.Println("high:", string(high), err)
		}
	}
	// Output:
	// https://mcpsign.github.io/approval/v1
	// approves: true
	// https://mcpsign.github.io/revocation/v1
	// revoked: approved by mistake
	// https://scanner.example/result/v1
	// high: 0 <nil>
}
