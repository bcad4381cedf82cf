// Package attest turns what is said about definitions into in-toto statements
// and back. This comment is the specification of the statements.
//
// # The statement
//
// Whoever vouches for definitions, approves or revokes them signs an in-toto
// Statement v1 (https://in-toto.io/Statement/v1) in a DSSE envelope of payload
// type application/vnd.in-toto+json. A statement has at most 1 MiB.
//
// Each subject is one definition: name "kind:name" (tool:get_forecast,
// prompt:review, resourceTemplate:demo://{id}, instructions:), digest the
// definition digest under "sha256" as 64 lower-case hexadecimal digits, and
// nothing else. There are 1 to 1,024; a name occurs once.
//
// The predicate type alone tells what a statement says, and each has accessors
// of its own that answer for no other: something approved is not vouched for,
// and nothing foreign revokes.
//
//	https://mcpsign.github.io/definitions/v1   a publisher vouches for a release
//	https://mcpsign.github.io/approval/v1      a reviewer approves
//	https://mcpsign.github.io/revocation/v1    what no longer counts
//	any other                                  foreign: SLSA provenance, a VSA, a scan ...
//
// Other types that begin with https://mcpsign.github.io/ are reserved, and
// refused.
//
// The bytes of the first three are the RFC 8785 form of the JSON object; bytes
// in any other form are refused, and so are members that are not listed below
// and members twice. A string or array that says nothing is left out rather
// than empty, unless it is required; strings have at most 4,096 bytes, but for
// names of definitions; times are RFC 3339 in UTC with Z, whole seconds of the
// years 1970 to 9999. A server name is one of lock.CheckName. The examples are
// indented to be read; what is signed has no white space.
//
// # Definitions of a release
//
// A publisher vouches for the definitions of one release of a server. Subjects
// may have any order.
//
//	recipe           required  "mcp-definition/v1": SHA-256 over the RFC 8785 form of
//	                           the definition as received, without its top-level _meta
//	server           required  object:
//	  name           required  the server's identity, which the verifier names byte for byte
//	  version                  the release's version, for people
//	  purls                    package URLs under which the server is released
//	  origins                  HTTPS origins under which it is served
//	sequence         required  integer, 0 < n < 2^53; rises with every release of the name
//	variant          required  string, "" for the only or usual one: one release may list
//	                           other definitions on other machines; each is a statement with
//	                           its own variant and the same sequence
//	complete         required  boolean: the subjects are all definitions of the kinds named
//	kinds            required  sorted array of instructions, prompt, resourceTemplate, tool:
//	                           every subject's kind is among them
//	protocolVersion            of MCP, in which the definitions were listed
//	issuedAt         required  time
//	expiresAt                  time, later than issuedAt
//	source                     ResourceDescriptor of the source: {"uri", "digest"}
//	artifacts                  array of ResourceDescriptors of what serves the definitions: a
//	                           package's archive under its package URL, a program or script
//	                           under any uri or none; digest sha256, sha384 or sha512
//
// Two statements with the same server name, sequence and variant and other
// subjects contradict each other: a verifier refuses both.
//
//	{
//	  "_type": "https://in-toto.io/Statement/v1",
//	  "predicate": {
//	    "complete": true,
//	    "issuedAt": "2026-11-30T12:00:00Z",
//	    "kinds": ["tool"],
//	    "recipe": "mcp-definition/v1",
//	    "sequence": 1796040000,
//	    "server": {"name": "acme/echo", "version": "1.4.2"},
//	    "variant": ""
//	  },
//	  "predicateType": "https://mcpsign.github.io/definitions/v1",
//	  "subject": [
//	    {
//	      "digest": {"sha256": "a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},
//	      "name": "tool:echo"
//	    }
//	  ]
//	}
//
// # Approval
//
// A reviewer approves definitions of one server for one deployment. Subjects
// are sorted by name.
//
//	recipe           required  as above
//	server           required  object:
//	  name           required  the server's identity
//	audience         required  the deployment, 1 to 255 visible ASCII characters without a
//	                           space: a verifier counts approvals that name its own, byte for byte
//	notes                      for people
//	issuedAt         required  time
//	expiresAt        required  time, later than issuedAt
//	replaces                   object: to names of subjects, {"sha256": digest} of the definition
//	                           that the one approved takes the place of, which is another one;
//	                           where there is none the reviewer does not say what was there before.
//	                           A verifier that has another one pinned does not take the approval
//
// An approval says nothing about who published the definitions, and can't stand
// in for that.
//
//	{
//	  "_type": "https://in-toto.io/Statement/v1",
//	  "predicate": {
//	    "audience": "https://hosts.corp.example/production",
//	    "expiresAt": "2027-05-31T12:00:00Z",
//	    "issuedAt": "2026-11-30T12:00:00Z",
//	    "notes": "text read in full",
//	    "recipe": "mcp-definition/v1",
//	    "replaces": {
//	      "tool:echo": {"sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}
//	    },
//	    "server": {"name": "acme/echo"}
//	  },
//	  "predicateType": "https://mcpsign.github.io/approval/v1",
//	  "subject": [
//	    {
//	      "digest": {"sha256": "a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},
//	      "name": "tool:echo"
//	    }
//	  ]
//	}
//
// # Revocation
//
// A publisher, or someone a policy names, lists what no longer counts for the
// servers named.
//
//	recipe           required  as above
//	servers          required  sorted array of 1 to 1,024 server names
//	number           required  integer, 0 < n < 2^53; rises with every list of the signer
//	issuedAt         required  time
//	nextUpdate       required  time, later than issuedAt, by which the next list is out
//
// A list is the whole of what its signer revokes for each server it names: of
// the lists of one signer that name a server the one with the highest number
// counts for it, and one before is superseded, entries and all. Two with the
// same number and other bytes contradict each other.
//
// A subject is one of
//
//	kind:name          a definition, with its digest
//	statement:HEX      a statement, with the SHA-256 of its bytes as digest, HEX the same
//	nothing:           the only subject of a list that revokes nothing, since an in-toto
//	                   statement has at least one; its digest is the SHA-256 of no bytes
//
// sorted by name and digest. A definition's name may be there with several
// digests, each a definition that is revoked. The reason, for people, is an
// annotation of the subject.
//
//	{
//	  "_type": "https://in-toto.io/Statement/v1",
//	  "predicate": {
//	    "issuedAt": "2026-11-30T12:00:00Z",
//	    "nextUpdate": "2026-12-07T12:00:00Z",
//	    "number": 2,
//	    "recipe": "mcp-definition/v1",
//	    "servers": ["acme/echo"]
//	  },
//	  "predicateType": "https://mcpsign.github.io/revocation/v1",
//	  "subject": [
//	    {
//	      "digest": {"sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
//	      "name": "statement:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
//	    },
//	    {
//	      "annotations": {"reason": "sends what it echoes elsewhere"},
//	      "digest": {"sha256": "a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},
//	      "name": "tool:echo"
//	    }
//	  ]
//	}
//
// # Foreign statements
//
// A statement of any other predicate type is read by in-toto's rules: strictly
// as JSON (no member twice, no broken Unicode, at most 64 levels and 10,000
// members an object), members nobody knows are ignored, subjects that are no
// definitions or have no SHA-256 are left aside, and a predicate left out is
// {}. A definition's name that occurs twice is an error. What the predicate
// means is not looked at; Predicate.Value hands out the parts that a policy
// asks for. Summarize makes one of them, the verification summary of SLSA:
//
//	{
//	  "_type": "https://in-toto.io/Statement/v1",
//	  "predicate": {
//	    "policy": {
//	      "digest": {"sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
//	      "uri": "https://hosts.corp.example/policy.yaml"
//	    },
//	    "resourceUri": "https://hosts.corp.example/production/acme/echo",
//	    "slsaVersion": "1.1",
//	    "timeVerified": "2026-11-30T12:00:00Z",
//	    "verificationResult": "PASSED",
//	    "verifiedLevels": [],
//	    "verifier": {"id": "https://hosts.corp.example/mcpsign"}
//	  },
//	  "predicateType": "https://slsa.dev/verification_summary/v1",
//	  "subject": [
//	    {
//	      "digest": {"sha256": "a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},
//	      "name": "tool:echo"
//	    }
//	  ]
//	}
//
// The package does no I/O and reads no clock. What it parses is unverified:
// who signed it, and whether, is package verify's to say.
package attest
