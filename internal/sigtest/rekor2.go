package sigtest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortilespb "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	rekornote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	"github.com/sigstore/rekor-tiles/v2/pkg/types/hashedrekord"
	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/mod/sumdb/note"
	"google.golang.org/protobuf/encoding/protojson"
)

// A RekorV2 is a Rekor v2 log: it takes hashedrekord 0.0.2 entries, verifies
// their signature, and answers with an inclusion proof in a checkpoint. It
// tells no time.
type RekorV2 struct {
	service

	// Origin is the name in the checkpoints. Verifiers expect the host name of
	// the log's URL.
	Origin string
	// Replay makes it answer with the first entry of the log, whatever was
	// uploaded: a valid entry of another artifact.
	Replay bool
	// NoProof leaves the inclusion proof out of the answers.
	NoProof bool

	key      ed25519.PrivateKey
	accepted *signature.AlgorithmRegistryConfig
	tree     tree
}

// NewRekorV2 returns an empty log that takes ECDSA P-256 and P-384.
func NewRekorV2(origin string) *RekorV2 {
	return &RekorV2{Origin: origin, key: Ed25519(), accepted: must(signature.NewAlgorithmRegistryConfig([]protocommon.PublicKeyDetails{
		protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
		protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384,
	}))}
}

// LogID returns the hash of the origin and the public key.
func (r *RekorV2) LogID() []byte {
	_, id, err := rekornote.KeyHash(r.Origin, r.key.Public())
	return must(id, err)
}

// ServeHTTP answers uploads.
func (r *RekorV2) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.serve(w, req, r.answer) }

func (r *RekorV2) answer(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || req.URL.Path != "/api/v2/log/entries" {
		http.NotFound(w, req)
		return
	}
	body, err := r.canonicalEntry(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if i := r.tree.find(body); i >= 0 {
		http.Error(w, fmt.Sprintf("an equivalent entry already exists in the transparency log with index %d", i), http.StatusConflict)
		return
	}
	p := r.tree.add(body)
	if r.Replay {
		p = r.tree.at(0)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	w.Write(must(protojson.Marshal(r.entry(p))))
}

// canonicalEntry verifies a request and returns the entry as the log stores it.
func (r *RekorV2) canonicalEntry(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return nil, err
	}
	var req rekortilespb.CreateEntryRequest
	if err := protojson.Unmarshal(data, &req); err != nil {
		return nil, err
	}
	hr := req.GetHashedRekordRequestV002()
	if hr == nil {
		return nil, fmt.Errorf("not a hashedrekord 0.0.2")
	}
	entry, err := hashedrekord.ToLogEntry(hr, r.accepted)
	if err != nil {
		return nil, err
	}
	return jsoncanonicalizer.Transform(must(protojson.Marshal(entry)))
}

func (r *RekorV2) entry(p proof) *protorekor.TransparencyLogEntry {
	e := &protorekor.TransparencyLogEntry{
		LogIndex:          int64(p.index),
		LogId:             &protocommon.LogId{KeyId: r.LogID()},
		KindVersion:       &protorekor.KindVersion{Kind: "hashedrekord", Version: "0.0.2"},
		CanonicalizedBody: p.body,
	}
	if !r.NoProof {
		e.InclusionProof = &protorekor.InclusionProof{
			LogIndex:   int64(p.index),
			TreeSize:   int64(p.size),
			RootHash:   p.root,
			Hashes:     p.path,
			Checkpoint: &protorekor.Checkpoint{Envelope: r.checkpoint(p)},
		}
	}
	return e
}

func (r *RekorV2) checkpoint(p proof) string {
	signer := must(rekornote.NewNoteSigner(context.Background(), r.Origin, must(signature.LoadED25519Signer(r.key))))
	text := fmt.Sprintf("%s\n%d\n%s\n", r.Origin, p.size, base64.StdEncoding.EncodeToString(p.root))
	return string(must(note.Sign(&note.Note{Text: text}, signer)))
}
