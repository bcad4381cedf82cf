// Mcpsign signs the definitions that an MCP server lists, pins those that were
// approved, and verifies both offline.
//
// Usage:
//
//	mcpsign list [NAME] SOURCE [-o raw]
//	mcpsign digest SOURCE
//	mcpsign key generate --out FILE
//	mcpsign sign NAME SOURCE --bundle FILE (--key FILE [--cert FILE --chain FILE] [--tsa URL | --no-timestamp] |
//	        --identity-token FILE --signing-config FILE --trusted-root FILE) [--exclude KIND:NAME]
//	mcpsign attest NAME SOURCE --type URI --predicate FILE --bundle FILE --key FILE ...
//	mcpsign attest --statement FILE --bundle FILE --key FILE ...
//	mcpsign revoke NAME [ITEM]... --number N --next-update 30d [--replaces FILE] --bundle FILE --key FILE ...
//	mcpsign verify NAME SOURCE --bundle FILE (--key FILE | --signer IDENTITY | --policy FILE)
//	mcpsign verify [NAME] [--policy FILE] [--stateless] [--attest-result FILE [--attest-key FILE]]
//	mcpsign lock NAME SOURCE [--bundle FILE --key FILE ...] [--from FILE]
//	mcpsign lock --all client:HOST
//	mcpsign approve NAME [SOURCE | --held] [--listing DIGEST] [--downgrade]
//	mcpsign approve NAME [SOURCE | --held] --out FILE [--sign key=FILE ...] --audience NAME --expires 90d
//	mcpsign check NAME [SOURCE] [--lint] [--fail-on CODES]
//	mcpsign diff NAME [SOURCE]
//	mcpsign diff OLD NEW
//	mcpsign add NAME [FILE|URL...] [--refresh] [--key FILE | --policy FILE ...]
//	mcpsign policy init
//	mcpsign policy check FILE
//	mcpsign policy explain NAME[/KIND:NAME] [SOURCE]
//	mcpsign inspect FILE
//	mcpsign bundle pack --out FILE [--authority FILE ...]
//	mcpsign bundle show FILE
//	mcpsign bundle unpack FILE [--authority DIGEST ... --authority-dir DIR]
//	mcpsign demo
//	mcpsign version
//
// NAME is the server's name as its publisher signs for it, such as
// io.github.acme/weather. Of a server in the lockfile a unique last segment is
// enough, but where a policy, --signer or --key decides: there NAME selects who
// must have signed, and is taken as written.
//
// SOURCE is where a listing comes from: files with JSON-RPC responses, results
// or an array of tools, which together are one listing; - for standard input;
// -- COMMAND ARGS, a server that is started and listed over stdio; the http or
// https URL of a server, listed over streamable HTTP; or client:HOST/SERVER, an
// entry in the configuration of claude-desktop, claude-code, cursor, vscode,
// windsurf, gemini or codex. Flags stand before the --.
//
// A result may have the answer to initialize beside its tools, as the member
// initialize. The name that a server gives itself there is pinned with what it
// lists; another name needs approval like a change, unless a later release comes
// with it that the policy accepts.
//
// Check, diff and approve without SOURCE, and list, digest, check and diff with
// --all, launch what the lockfile records; --run allows that where there is no
// terminal to ask at, and so it does for a client's entry that is in the project's
// own folder. Who is asked sees all of the launch but for secrets: the command, its
// working directory and the names of variables, or the URL and its headers; of
// an entry, what it says now, or what was recorded where no such entry is
// configured, as in CI. With --all client:HOST they and lock are about every
// entry there.
//
// # Statements
//
// Sign says what a publisher vouches for. Attest signs what others say about the
// definitions of a listing: any in-toto predicate; approve --out, a reviewer's
// approval for one deployment, of what the rule does not refuse but for the lack
// of approvals. --out writes the statement without a signature, unless approve
// has --sign, byte for byte what --statement signs on another machine. An ITEM of revoke is
// KIND:NAME@sha256:HEX, statement:sha256:HEX, or a bundle, whose statement is
// meant; a list takes the place of the last one by its signer, entries and all.
// Each bundle is verified as a host would before it is written.
//
// Verify --attest-result writes a SLSA verification summary of each listing that
// was judged, one a line: PASSED if the answer for its server is a yes, else
// FAILED, and the exit code stays as it is. It is about every definition with a
// digest; its resource is https://mcpsign.github.io/servers/NAME, its policy the
// SHA-256 of the policy file, or of the lockfile if that alone decided. It is
// an in-toto statement, with --attest-key a bundle that a policy can ask for
// with attested. What an earlier run wrote there is removed first.
//
// With --offline no command makes a connection, nor starts a server that may
// make one: a SOURCE that is not a file is exit code 3, a signing service 4.
// Without it only a SOURCE, the services of sign and the URLs of add are ever
// dialled, and with add --refresh the issuers of the certificates that signed:
// where these name a revocation list or an OCSP responder, if the certificate
// verifies with the roots of the flags or the policy.
//
// # Output
//
// Results go to standard output, or with -o FORMAT=FILE to a file: text, json,
// of list also raw, and of check, diff, lock and verify also sarif and
// markdown. Several -o write several of them. output.schema.json beside this
// file is the schema of the JSON.
//
// # Files
//
// mcpsign.lock.json in the working directory (--lock names another) has the
// definitions that were pinned, .mcpsign beside it the bundles, keys and roots
// by their SHA-256. In .mcpsign/for-ID lies what add kept for a server, with the
// keys and roots that verified it: where these are not trusted, a revocation list
// or a newer release there stops every command (exit 5), or revokes all the same
// if the lockfile alone decides. They permit nothing. Who may sign is never looked for there: a flag says it, or
// policy.yaml in $XDG_CONFIG_HOME/mcpsign; the policy in /etc/mcpsign (in
// %ProgramData%\mcpsign on Windows) always holds as well. A policy that can't be
// found or read for any other reason than that there is none is an error.
//
// What was seen on this machine of each publisher, the highest sequence with what
// was signed, numbers of revocation lists, the latest verified time, is kept in
// $XDG_STATE_HOME/mcpsign/sequences: when a release is pinned or added, when a
// revocation list is added, and when check meets a live server whose update it
// accepts. What was checked with nothing but the keys and roots of a lockfile is
// kept for that lockfile alone, unless a bare key signed it. Every command counts it; verify writes nothing there, does
// without on a machine that has seen nothing, as in CI, and leaves it out with
// --stateless. What check does not allow of a live server, and someone may
// approve, lies in held there, the last listing of each lockfile and server.
//
// Bundle pack puts the lockfile and its evidence into one file, with policies, the
// files that these name, keys and roots only if --authority names them; unpack
// takes those out only if --authority gives their digests.
//
// # Environment
//
// MCPSIGN_PASSWORD is the passphrase of private keys. A server that is started
// gets no variable that signs: MCPSIGN_*, COSIGN_*, ACTIONS_ID_TOKEN_* and the
// like; an entry or a header that names one is refused. On Linux servers can't
// read the environment of mcpsign either, but that of the shell above it they
// can: where a job can sign, sign a file. Headers name variables, --header 'Authorization: Bearer
// ${TOKEN}', or a file, 'Authorization: @FILE', which has to be given each time:
// a lockfile can't have a file read. An ${input:ID} of VS Code is
// MCPSIGN_INPUT_ID. SOURCE_DATE_EPOCH is the default for --sequence.
//
// A server whose certificate comes from a private PKI is reached on Linux with
// SSL_CERT_FILE, the file of its root certificate in PEM; elsewhere that is added
// to the roots of the system. HTTPS_PROXY and NO_PROXY are used.
//
// # Exit codes
//
//	0   everything required holds
//	1   internal or I/O error
//	2   usage, bad configuration, policy or lockfile
//	3   the server could not be started or listed
//	4   a signing, log or timestamp service failed after retries
//	5   trust material or state missing, unreadable or out of date; clock impossible
//	6   input needed and none possible
//	10  a pinned definition changed or vanished, or the server calls itself otherwise
//	11  a definition is not pinned
//	12  a definition has no digest, or a duplicate name
//	13  a required signature, attestation, approval or rule is missing
//	14  evidence is invalid
//	15  signer, server, kind or launch is not the one allowed
//	16  expired, revoked, rolled back, contradictory
//	17  the lint has a finding that --fail-on names
//	129, 130, 143  ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM, within a second
//
// Where several apply, 14 wins over 16, 15, 13, 12, 10, 11 and 17, and these over
// 1 to 6.
package main

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/cli"
)

// systemFolder is where the system's policy is. What the environment says counts
// only where it can't lead into the working directory.
func systemFolder() string {
	if runtime.GOOS != "windows" {
		return "/etc/mcpsign"
	}
	data := os.Getenv("ProgramData")
	if !filepath.IsAbs(data) {
		data = `C:\ProgramData`
	}
	return filepath.Join(data, "mcpsign")
}

// userHome is the home folder by the user database.
func userHome() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
}

// memoryGoal is how much memory the garbage collector keeps to where it can: a
// hostile checkout of 100 MB would take twice that otherwise.
const memoryGoal = 240 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	os.Exit(int(cli.RunInterruptible(cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Now: time.Now,
		Exposed: cli.Hide(), System: systemFolder(), UserHome: userHome,
	})))
}
