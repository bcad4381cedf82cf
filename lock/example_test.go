package lock_test

import (
	"fmt"

	"github.com/mcpsign/mcpsign/lock"
)

// The example of the package comment.
func ExampleParseDefinition() {
	d, err := lock.ParseDefinition(lock.Tool, []byte(`{"name": "echo", "inputSchema": {"type": "object"}, "_meta": {"v": 1}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.ID())
	fmt.Printf("%s\n", d.Canonical())
	fmt.Println(d.Digest())
	// Output:
	// tool:echo
	// {"inputSchema":{"type":"object"},"name":"echo"}
	// sha256:a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723
}

// A definition that has no digest says why, and where.
func ExampleParseDefinition_refused() {
	_, err := lock.ParseDefinition(lock.Tool, []byte(`{"name": "pay", "inputSchema": {"maximum": 9007199254740993}}`))
	fmt.Println(err)
	// Output:
	// number_out_of_range: magnitude of 2^53 or more at /inputSchema/maximum (byte 43)
}

func ExampleParseListing() {
	listing, err := lock.ParseListing([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[
		{"name":"pay","description":"Pays."},
		{"name":"pay","description":"Pays twice."},
		{"name":"echo","description":"Says it again."}]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range listing.Definitions {
		fmt.Println(d.ID())
	}
	for _, r := range listing.Refused {
		fmt.Println(r.Name, r.Err.Code)
	}
	// Output:
	// tool:echo
	// pay duplicate_name
	// pay duplicate_name
}
