package sign

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortilespb "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/models"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	sgtlog "github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"
)

// errLogged says that Rekor v2 has an equal entry. It does not hand it out.
var errLogged = errors.New("the log has this entry already")

var jsonHeader = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}

// log adds an entry of the log l to b, which must have the leaf certificate or
// the hint as its verification material. That the entry is in the log, and is
// for b, is not checked.
func (s *Signer) log(ctx context.Context, l logService, b *protobundle.Bundle, key *keypair, chain []*x509.Certificate) error {
	verifier := pem.Block{Type: "PUBLIC KEY", Bytes: key.pkix}
	if len(chain) > 0 {
		verifier = pem.Block{Type: "CERTIFICATE", Bytes: chain[0].Raw}
	}
	base := strings.TrimSuffix(l.url, "/")
	rekor := sgsign.NewRekor(&sgsign.RekorOptions{
		Version:  l.version,
		Client:   rekorV1{s.http, base},
		ClientV2: rekorV2{s.http, base},
	})
	err := rekor.GetTransparencyLogEntry(ctx, pem.EncodeToMemory(&verifier), b)
	if err == nil {
		all := b.VerificationMaterial.TlogEntries
		_, err = sgtlog.ParseTransparencyLogEntry(all[len(all)-1])
	}
	if err != nil {
		return serviceError(ctx, "rekor", l.url, err)
	}
	return nil
}

// rekorV1 is the part of Rekor's client that sigstore-go uses, over our caller.
type rekorV1 struct {
	http caller
	base string
}

const rekorV1Path = "/api/v1/log/entries"

// CreateLogEntry uploads an entry, or fetches it if the log has it already.
func (r rekorV1) CreateLogEntry(params *entries.CreateLogEntryParams, _ ...entries.ClientOption) (*entries.CreateLogEntryCreated, error) {
	body, err := json.Marshal(params.ProposedEntry)
	if err != nil {
		return nil, err
	}
	a, err := r.http.do(params.Context, http.MethodPost, r.base+rekorV1Path, jsonHeader, body)
	if err != nil {
		return nil, err
	}
	want := http.StatusCreated
	if at := a.header.Get("Location"); a.status == http.StatusConflict && at != "" {
		uuid := path.Base(at)
		if a, err = r.http.do(params.Context, http.MethodGet, r.base+rekorV1Path+"/"+uuid, jsonHeader, nil); err != nil {
			return nil, err
		}
		want = http.StatusOK
	}
	if a.status != want {
		return nil, a.err()
	}
	uuid, entry, err := parseEntryV1(a.body)
	if err != nil {
		return nil, err
	}
	return &entries.CreateLogEntryCreated{ETag: uuid, Payload: models.LogEntry{uuid: *entry}}, nil
}

// GetLogEntryByUUID is not needed: a conflict does not come out of
// CreateLogEntry.
func (rekorV1) GetLogEntryByUUID(*entries.GetLogEntryByUUIDParams, ...entries.ClientOption) (*entries.GetLogEntryByUUIDOK, error) {
	return nil, errors.ErrUnsupported
}

// parseEntryV1 parses an answer with one entry. sigstore-go takes every member
// of it to be present.
func parseEntryV1(body []byte) (uuid string, entry *models.LogEntryAnon, err error) {
	var all models.LogEntry
	if err := json.Unmarshal(body, &all); err != nil {
		return "", nil, fmt.Errorf("log entry: %w", err)
	}
	if len(all) != 1 {
		return "", nil, fmt.Errorf("answered %d log entries", len(all))
	}
	for uuid, e := range all {
		if _, ok := e.Body.(string); !ok || e.LogID == nil || e.LogIndex == nil || e.IntegratedTime == nil {
			return "", nil, errors.New("the log entry is incomplete")
		}
		v := e.Verification
		if v == nil || len(v.SignedEntryTimestamp) == 0 {
			return "", nil, errors.New("the log entry has no signed entry timestamp")
		}
		p := v.InclusionProof
		if p == nil || p.LogIndex == nil || p.TreeSize == nil || p.RootHash == nil || p.Checkpoint == nil || *p.Checkpoint == "" {
			return "", nil, errors.New("the log entry has no inclusion proof")
		}
		entry = &e
		return uuid, entry, nil
	}
	panic("unreachable")
}

// rekorV2 is the client for Rekor v2 that sigstore-go uses, over our caller.
// The one of rekor-tiles always takes http.DefaultTransport.
type rekorV2 struct {
	http caller
	base string
}

// Add uploads an entry, a *HashedRekordRequestV002.
func (r rekorV2) Add(ctx context.Context, entry any) (*protorekor.TransparencyLogEntry, error) {
	req, ok := entry.(*rekortilespb.HashedRekordRequestV002)
	if !ok {
		return nil, fmt.Errorf("unknown entry %T", entry)
	}
	body, err := protojson.Marshal(&rekortilespb.CreateEntryRequest{
		Spec: &rekortilespb.CreateEntryRequest_HashedRekordRequestV002{HashedRekordRequestV002: req},
	})
	if err != nil {
		return nil, err
	}
	a, err := r.http.do(ctx, http.MethodPost, r.base+"/api/v2/log/entries", jsonHeader, body)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusConflict:
		return nil, errLogged
	case a.status != http.StatusCreated:
		return nil, a.err()
	}
	e := &protorekor.TransparencyLogEntry{}
	if err := protojson.Unmarshal(a.body, e); err != nil {
		return nil, fmt.Errorf("log entry: %w", err)
	}
	if len(e.GetLogId().GetKeyId()) == 0 || e.GetKindVersion() == nil || len(e.GetCanonicalizedBody()) == 0 {
		return nil, errors.New("the log entry is incomplete")
	}
	if e.GetInclusionProof().GetCheckpoint().GetEnvelope() == "" {
		return nil, errors.New("the log entry has no inclusion proof")
	}
	return e, nil
}
