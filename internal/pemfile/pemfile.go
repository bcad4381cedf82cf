// Package pemfile reads keys, certificates and the status of certificates from
// files in PEM (RFC 7468), strictly: encoding/pem leaves out what it can't
// decode, and a revocation list or a root that is left out changes a decision.
// Here a block that can't be read is an error with its line.
//
// Text between blocks, EC PARAMETERS, CRLF and a byte order mark of UTF-8 are
// read over.
package pemfile

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxBlocks bounds the blocks of a file.
const MaxBlocks = 100

// A Kind is what a file holds.
type Kind int

// The kinds that files are read as. Of keys a file has one, of the others one
// or more.
const (
	Certificate Kind = iota + 1 // CERTIFICATE
	PublicKey                   // PUBLIC KEY, RSA PUBLIC KEY
	PrivateKey                  // PRIVATE KEY, EC and RSA PRIVATE KEY, encrypted or not
	List                        // X509 CRL
	Status                      // X509 CRL, OCSP RESPONSE
)

// name returns what a kind is called, with its article.
func (k Kind) name() string {
	switch k {
	case Certificate:
		return "a certificate"
	case PublicKey:
		return "a public key"
	case PrivateKey:
		return "a private key"
	case List:
		return "a revocation list"
	case Status:
		return "a revocation list or OCSP response"
	}
	return "something else"
}

// types returns the types of blocks of a kind.
func (k Kind) types() []string {
	switch k {
	case Certificate:
		return []string{"CERTIFICATE"}
	case PublicKey:
		return []string{"PUBLIC KEY", "RSA PUBLIC KEY"}
	case PrivateKey:
		return []string{"PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"}
	case List:
		return []string{"X509 CRL"}
	case Status:
		return []string{"X509 CRL", "OCSP RESPONSE"}
	}
	return nil
}

// A Block is one PEM block and the line of the file on which it begins.
type Block struct {
	pem.Block
	Line int
}

// Fail returns err as an *Error at the line of b.
func (b Block) Fail(err error) error { return &Error{Line: b.Line, err: err} }

// Certificate parses the block. Neither the size of its key nor anything else
// of it is checked.
func (b Block) Certificate() (*x509.Certificate, error) {
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		return nil, b.Fail(fmt.Errorf("the certificate can't be parsed: %w", err))
	}
	return c, nil
}

// PublicKey parses the block. Its algorithm is not checked.
func (b Block) PublicKey() (key any, err error) {
	if b.Type == "RSA PUBLIC KEY" {
		key, err = x509.ParsePKCS1PublicKey(b.Bytes)
	} else {
		key, err = x509.ParsePKIXPublicKey(b.Bytes)
	}
	if err != nil {
		return nil, b.Fail(fmt.Errorf("the public key can't be parsed: %w", err))
	}
	return key, nil
}

// An Error says what is wrong with a file, and on which line.
type Error struct {
	Name  string // of the file, where the reader's caller has set it
	Line  int    // 0 if it is about the file
	Found Kind   // what there is where something else is wanted; 0 if that is not known

	want    Kind
	err     error
	command string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.err)
}

func (e *Error) Unwrap() error { return e.err }

// Command returns the shell command that writes what is wanted to the file out
// from the file in, empty if there is none. The names stand in it as given:
// they are quoted by the caller.
func (e *Error) Command(in, out string) string {
	return strings.NewReplacer("{in}", in, "{out}", out).Replace(e.command)
}

// Out returns a name for what [Error.Command] writes: that of the file with the
// suffix .pub for a public key, .pem for others.
func (e *Error) Out(in string) string {
	if e.want == PublicKey {
		return in + ".pub"
	}
	return in + ".pem"
}

// Is reports whether data is meant to be PEM: it has a BEGIN line, however
// broken, and is not a JSON object.
func Is(data []byte) bool {
	data = withoutMark(data)
	return !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && slices.ContainsFunc(strings.Split(string(data), "\n"), boundary)
}

// Read returns the blocks of a file of one kind: all that its BEGIN lines
// announce, at most [MaxBlocks]. The error is an *Error.
func Read(data []byte, want Kind) ([]Block, error) {
	blocks, err := split(data)
	if err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, foreign(data, want)
	}
	kept := slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool { return b.Type == "EC PARAMETERS" })
	if len(kept) == 0 {
		return nil, blocks[0].Fail(fmt.Errorf("has the parameters of a key only, want %s", want.name()))
	}
	for _, b := range kept {
		if !slices.Contains(want.types(), b.Type) {
			return nil, other(b, want)
		}
		if err := unreadable(b); err != nil {
			return nil, err
		}
	}
	if len(kept) > 1 && (want == PublicKey || want == PrivateKey) {
		return nil, second(kept[1], want)
	}
	return kept, nil
}

// One is [Read] for a file with one block.
func One(data []byte, want Kind) (Block, error) {
	blocks, err := Read(data, want)
	if err != nil {
		return Block{}, err
	}
	if len(blocks) > 1 {
		return Block{}, second(blocks[1], want)
	}
	return blocks[0], nil
}

// second is the error for a block of which one is enough.
func second(b Block, want Kind) error {
	what := strings.TrimPrefix(want.name(), "a ")
	return b.Fail(fmt.Errorf("has more than one %s: keep each in a file of its own", what))
}

// split returns the blocks of data, of whatever type, in their order.
func split(data []byte) ([]Block, error) {
	var blocks []Block
	var open *Block // the block whose END line is still to come
	var text strings.Builder
	number := 0
	for line := range strings.SplitSeq(string(withoutMark(data)), "\n") {
		number++
		line = strings.TrimRight(line, " \t\r")
		word, kind := parseBoundary(line)
		switch {
		case word == "" && boundary(line):
			return nil, malformed(line, number)
		case word == "BEGIN" && open != nil:
			return nil, open.Fail(fmt.Errorf("block %s has no END line before the next block on line %d", open.Type, number))
		case word == "BEGIN" && len(blocks) == MaxBlocks:
			return nil, &Error{Line: number, err: fmt.Errorf("has more than %d PEM blocks", MaxBlocks)}
		case word == "BEGIN":
			open = &Block{Line: number}
			open.Type = kind
			text.Reset()
		case word == "END" && (open == nil || open.Type != kind):
			return nil, &Error{Line: number, err: fmt.Errorf("END line of a block %s that did not begin", kind)}
		}
		if open != nil {
			text.WriteString(line + "\n")
		}
		if word == "END" {
			decoded, _ := pem.Decode([]byte(text.String()))
			if decoded == nil || len(decoded.Bytes) == 0 {
				return nil, open.Fail(fmt.Errorf("block %s can't be decoded: its content is damaged or empty", kind))
			}
			blocks, open = append(blocks, Block{*decoded, open.Line}), nil
		}
	}
	if open != nil {
		return nil, open.Fail(fmt.Errorf("block %s has no END line", open.Type))
	}
	return blocks, nil
}

// withoutMark returns data without a byte order mark of UTF-8.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// parseBoundary returns BEGIN or END, and the type, for the first or last line
// of a block; empty for other lines.
func parseBoundary(line string) (word, kind string) {
	inner, begins := strings.CutPrefix(line, "-----")
	inner, ends := strings.CutSuffix(inner, "-----")
	word, kind, _ = strings.Cut(inner, " ")
	switch {
	case !begins || !ends || word != "BEGIN" && word != "END",
		kind == "" || strings.TrimSpace(kind) != kind,
		strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "":
		return "", ""
	}
	return word, kind
}

// boundary reports whether a line is or was meant to be the first or last one
// of a block: BEGIN or END after dashes, or after one long dash, which may have been
// indented, glued to another line, or set in type by a word processor.
func boundary(line string) bool {
	for _, word := range []string{"BEGIN", "END"} {
		for rest := line; ; {
			before, after, found := strings.Cut(rest, word)
			if !found {
				break
			}
			before = strings.TrimRight(before, " \t")
			ends := after == "" || !isWord(after[0])
			if ends && slices.ContainsFunc([]string{"--", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015"}, func(dash string) bool {
				return strings.HasSuffix(before, dash)
			}) {
				return true
			}
			rest = after
		}
	}
	return false
}

func isWord(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// malformed is the error of a line that was meant to be a boundary.
func malformed(line string, number int) *Error {
	e := &Error{Line: number, err: fmt.Errorf("a BEGIN or END line must be alone on its line, with five dashes on each side and nothing before them: found %+.80q", line)}
	if strings.Contains(line, "BEGIN SSH2 PUBLIC KEY") {
		e.Found, e.err, e.command = PublicKey, errors.New("is a public key in the format of SSH (RFC 4716), want PEM"), fromSSH2
		e.want = PublicKey
	}
	return e
}
