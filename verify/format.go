package verify

import (
	"errors"
	"fmt"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A FormatError reports that bytes are not a Sigstore bundle of a version that is
// read, so that nothing can be said about a signature.
type FormatError struct {
	Err  error  // what they are instead, or why they can't be read
	Fix  string // what to do about it, for people; empty if nothing is known
	Path string // filter for jq that takes the bundles out of a document that has some; empty for others
}

func (e *FormatError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// unreadable returns a FormatError as the reason why a bundle does not count.
func unreadable(err *FormatError) *badEvidence { return &badEvidence{reason: Unreadable, err: err} }

// mediaTypes are those of the bundles that are read.
var mediaTypes = []string{
	"application/vnd.dev.sigstore.bundle+json;version=0.1",
	"application/vnd.dev.sigstore.bundle+json;version=0.2",
	"application/vnd.dev.sigstore.bundle+json;version=0.3",
	"application/vnd.dev.sigstore.bundle.v0.3+json",
}

// read reads the JSON of a bundle of version 0.1 to 0.3. The error is a
// *FormatError unless the bundle can be read and lacks something.
func read(data []byte) (*sgbundle.Bundle, error) {
	if len(data) > lock.MaxBundle {
		return nil, &FormatError{Err: fmt.Errorf("bundle of more than %d bytes", lock.MaxBundle)}
	}
	seen, err := outline(data)
	if err != nil {
		return nil, &FormatError{Err: clean("bundle", err), Fix: "fetch the bundle again, a file *.sigstore.json: this is not a JSON object, or only a part of one"}
	}
	if other := seen.other(); other != nil {
		return nil, other
	}
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(data, b); err != nil {
		return nil, &FormatError{Err: clean("bundle", err), Fix: "update mcpsign, or fetch the bundle again: it has what this version does not know"}
	}
	var options []sgbundle.Option
	if strings.Contains(b.GetMediaType(), "0.3") {
		// A chain of certificates is read in version 0.3 alone.
		options = append(options, sgbundle.AllowCertificateChain())
	}
	made, err := sgbundle.NewBundle(b, options...)
	if err != nil {
		return nil, clean("bundle", err)
	}
	return made, nil
}

// An outlined is what is seen of a document at a glance.
type outlined struct {
	mediaType string
	members   map[string]bool
	npm       bool // its attestations have predicate types beside the bundles
}

// outline reads a document strictly, and keeps what tells formats apart.
func outline(data []byte) (outlined, error) {
	o := outlined{members: make(map[string]bool)}
	r := canonical.NewReader(data)
	err := r.Object(func(name string) (err error) {
		switch {
		case name == "mediaType" || name == "media_type":
			o.mediaType, err = r.String()
			return err
		case name == "attestations" && r.Peek() == '[':
			o.members[name] = true
			return r.Array(func(int) error {
				if r.Peek() != '{' {
					return r.Skip()
				}
				return r.Object(func(name string) error {
					o.npm = o.npm || name == "predicateType"
					return r.Skip()
				})
			})
		}
		if len(name) < 30 {
			o.members[name] = true
		}
		return r.Skip()
	})
	if err == nil {
		err = r.End()
	}
	return o, err
}

// other returns what a document is if not a bundle that is read, nil if it may
// be one.
func (o outlined) other() *FormatError {
	has := func(names ...string) bool {
		for _, n := range names {
			if !o.members[n] {
				return false
			}
		}
		return true
	}
	no := func(what, fix, path string) *FormatError {
		return &FormatError{errors.New(what), fix, path}
	}
	for _, m := range mediaTypes {
		if o.mediaType == m {
			return nil
		}
	}
	switch {
	case strings.HasPrefix(o.mediaType, "application/vnd.dev.sigstore.bundle"):
		return no("Sigstore bundle of another version than 0.1 to 0.3: "+shown(o.mediaType), "update mcpsign, or ask the publisher for a bundle of version 0.3", "")
	case strings.HasPrefix(o.mediaType, "application/vnd.dev.sigstore.trustedroot"):
		return no("Sigstore trusted root instead of a bundle", "name it with --trusted-root, and the publisher's bundle with --bundle", "")
	case o.mediaType != "":
		return no("document of type "+shown(o.mediaType)+" instead of a Sigstore bundle", "ask the publisher for the bundle, a file *.sigstore.json", "")
	case has("base64Signature"):
		return no("old cosign bundle (base64Signature, cert, rekorBundle) instead of a Sigstore bundle",
			"ask the publisher for a Sigstore bundle: cosign writes one with --new-bundle-format", "")
	case has("attestations") && o.npm:
		return no("attestations of npm, which has the Sigstore bundles in it", "take the bundles out", ".attestations[].bundle")
	case has("attestations"):
		return no("answer of GitHub's attestations API, which has the Sigstore bundles in it", "take the bundles out", ".attestations[].bundle")
	case has("payload", "payloadType", "signatures"):
		return no("DSSE envelope alone: its certificate or key, log entry and timestamp are not there", "ask the publisher for the Sigstore bundle with this envelope", "")
	case has("_type", "predicateType"):
		return no("in-toto statement without a signature", "ask the publisher for the Sigstore bundle that signs it", "")
	}
	return no("JSON document without the mediaType of a Sigstore bundle", "ask the publisher for the bundle, a file *.sigstore.json", "")
}

// load reads a bundle strictly and checks its shape: a DSSE envelope with an
// in-toto payload and one signature, within the limits.
func load(data []byte) (*entity, *badEvidence) {
	b, err := read(data)
	if format := (*FormatError)(nil); errors.As(err, &format) {
		return nil, unreadable(format)
	}
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: err}
	}
	dsse := b.GetDsseEnvelope()
	switch {
	case dsse == nil:
		return nil, bad(WrongKind, "bundle signs a file, not a statement")
	case dsse.GetPayloadType() != attest.PayloadType:
		return nil, bad(WrongKind, "payload type is %s, not %s", shown(dsse.GetPayloadType()), attest.PayloadType)
	case len(dsse.GetSignatures()) != 1:
		return nil, bad(BadSignature, "envelope has %d signatures, want one", len(dsse.GetSignatures()))
	}
	if err := checkLimits(b.GetVerificationMaterial()); err != nil {
		return nil, bad(BadSignature, "bundle: %w", err)
	}
	e := &entity{Bundle: b}
	if e.content, err = b.VerificationContent(); err == nil {
		e.envelope.Envelope, err = b.Envelope()
	}
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: clean("bundle", err)}
	}
	return e, nil
}
