package sigtest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-openapi/runtime"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/sigstore/pkg/signature"

	// The entry type that DSSE envelopes are logged as.
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"
)

const rekorV1Path = "/api/v1/log/entries"

// A RekorV1 is a Rekor v1 log: it takes DSSE envelopes (dsse 0.0.1), verifies
// their signature, and answers with a signed entry timestamp and an inclusion
// proof.
type RekorV1 struct {
	service
	Clock *Clock

	// Replay makes it answer with the first entry of the log, whatever was
	// uploaded: a valid entry of another artifact.
	Replay bool
	// NoSET and NoProof leave that part out of the answers.
	NoSET, NoProof bool

	key  *ecdsa.PrivateKey
	tree tree
}

// NewRekorV1 returns an empty log that goes by c.
func NewRekorV1(c *Clock) *RekorV1 { return &RekorV1{Clock: c, key: P256()} }

// LogID returns the SHA-256 of the public key in PKIX DER.
func (r *RekorV1) LogID() []byte { return keyID(r.key.Public()) }

func keyID(pub crypto.PublicKey) []byte {
	id := sha256.Sum256(must(x509.MarshalPKIXPublicKey(pub)))
	return id[:]
}

// ServeHTTP answers uploads (POST) and look-ups of one entry (GET).
func (r *RekorV1) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.serve(w, req, r.answer) }

func (r *RekorV1) answer(w http.ResponseWriter, req *http.Request) {
	index, isGet := strings.CutPrefix(req.URL.Path, rekorV1Path+"/")
	switch {
	case req.Method == http.MethodGet && isGet:
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= r.tree.len() {
			http.Error(w, "no such entry", http.StatusNotFound)
			return
		}
		r.write(w, http.StatusOK, r.tree.at(i))
	case req.Method == http.MethodPost && req.URL.Path == rekorV1Path:
		body, err := canonicalEntry(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if i := r.tree.find(body); i >= 0 {
			w.Header().Set("Location", fmt.Sprintf("%s/%d", rekorV1Path, i))
			http.Error(w, "an equivalent entry already exists in the transparency log", http.StatusConflict)
			return
		}
		p := r.tree.add(body)
		if r.Replay {
			p = r.tree.at(0)
		}
		r.write(w, http.StatusCreated, p)
	default:
		http.NotFound(w, req)
	}
}

// canonicalEntry verifies a proposed entry and returns it as Rekor stores it.
func canonicalEntry(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, 8<<20))
	if err != nil {
		return nil, err
	}
	pe, err := models.UnmarshalProposedEntry(bytes.NewReader(data), runtime.JSONConsumer())
	if err != nil {
		return nil, err
	}
	entry, err := types.UnmarshalEntry(pe)
	if err != nil {
		return nil, err
	}
	return types.CanonicalizeEntry(context.Background(), entry)
}

func (r *RekorV1) write(w http.ResponseWriter, status int, p proof) {
	id := hex.EncodeToString(r.LogID())
	body := base64.StdEncoding.EncodeToString(p.body)
	time, index, size := r.Clock.Now().Unix(), int64(p.index), int64(p.size)
	entry := models.LogEntryAnon{
		Body: body, IntegratedTime: &time, LogID: &id, LogIndex: &index,
		Verification: &models.LogEntryAnonVerification{},
	}
	if !r.NoSET {
		// The members are in the order of RFC 8785.
		promise := fmt.Sprintf(`{"body":%q,"integratedTime":%d,"logID":%q,"logIndex":%d}`, body, time, id, index)
		digest := sha256.Sum256([]byte(promise))
		entry.Verification.SignedEntryTimestamp = must(r.key.Sign(rand.Reader, digest[:], crypto.SHA256))
	}
	if !r.NoProof {
		root, checkpoint := hex.EncodeToString(p.root), r.checkpoint(p)
		ip := &models.InclusionProof{LogIndex: &index, TreeSize: &size, RootHash: &root, Checkpoint: &checkpoint, Hashes: []string{}}
		for _, h := range p.path {
			ip.Hashes = append(ip.Hashes, hex.EncodeToString(h))
		}
		entry.Verification.InclusionProof = ip
	}
	uuid := hex.EncodeToString(sum(0, p.body))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", uuid)
	w.WriteHeader(status)
	w.Write(must(json.Marshal(models.LogEntry{uuid: entry})))
}

func (r *RekorV1) checkpoint(p proof) string {
	signer := must(signature.LoadECDSASignerVerifier(r.key, crypto.SHA256))
	return string(must(util.CreateAndSignCheckpoint(context.Background(), "rekor.test", 1, uint64(p.size), p.root, signer)))
}
