package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/web"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// The limits of a refresh.
const (
	maxQueries     = 32
	queryTimeout   = 10 * time.Second
	refreshTimeout = time.Minute
)

// An asked is a place that was asked about a certificate, and what came.
type asked struct {
	query verify.StatusQuery
	note  string // why nothing of it is kept, or what is to be known of it
	kept  bool
}

// refresh asks the issuers of the certificates of the bundles, and of those
// above, for their status, and returns what is good. Roots that the lockfile
// records have no say in what is dialled.
func (a *app) refresh(ctx context.Context, name string, bundles [][]byte, flags *trustFlags) ([]asked, []addedStatus, error) {
	if err := a.mayDial(ExitService, "no issuer of a certificate is asked", "fetch the revocation lists by other means, and add the files"); err != nil {
		return nil, nil, err
	}
	policy, trust, err := flags.load(name)
	if err != nil {
		return nil, nil, err
	}
	v, err := verify.New(policy, trust, flags.also...)
	if err != nil {
		return nil, nil, err
	}
	nonce := make([]byte, 32) // RFC 9654 section 2.1
	if _, err := rand.Read(nonce); err != nil {
		return nil, nil, err
	}
	queries, err := v.StatusQueries(nonce, bundles...)
	if no := (*verify.StatusError)(nil); errors.As(err, &no) {
		return nil, nil, fail(reasonCode(no.Reason), err, "name the roots of the publisher with --roots and --tsa-roots, or --policy; those that the lockfile records are not enough to dial")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(queries) == 0 {
		return nil, nil, fail(ExitService, errors.New("the certificates name no place that tells their status"), "get the revocation list from the issuer by other means, and add the file")
	}
	if len(queries) > maxQueries {
		a.note(fmt.Sprintf("the first %d of %d places are asked", maxQueries, len(queries)))
		queries = queries[:maxQueries]
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	var all []asked
	var got []addedStatus
	for _, q := range queries {
		x, note, err := a.ask(ctx, v, q, nonce, bundles)
		if err != nil {
			note = oneLine(err.Error())
		}
		all = append(all, asked{q, note, err == nil})
		if err == nil && !slices.ContainsFunc(got, func(have addedStatus) bool { return have.digest == x.digest }) {
			got = append(got, x)
		}
	}
	return all, got, nil
}

// ask asks one place, and checks what comes back.
func (a *app) ask(ctx context.Context, v *verify.Verifier, q verify.StatusQuery, nonce []byte, bundles [][]byte) (x addedStatus, note string, err error) {
	data, err := fetchStatus(ctx, q)
	if err != nil {
		return x, "", err
	}
	ders, err := splitStatus(data)
	if err != nil || len(ders) != 1 {
		return x, "", errors.New("the answer is neither a revocation list nor an OCSP response")
	}
	if x, err = a.verifyStatus(v, ders[0], bundles); err != nil {
		return x, "", err
	}
	switch {
	case x.says.Kind != q.Kind():
		return x, "", fmt.Errorf("the answer is no %s", q.Kind())
	case !slices.ContainsFunc(x.says.Certificates, func(c verify.CertificateStanding) bool { return c.Serial == q.Serial && !c.Unknown }):
		return x, "", errors.New("the answer is about another certificate")
	case q.Kind() == verify.OCSPResponse && x.says.Nonce == nil:
		note = "without the nonce: it may have been made before it was asked for"
	case q.Kind() == verify.OCSPResponse && !bytes.Equal(x.says.Nonce, nonce):
		return x, "", errors.New("the answer has the nonce of another request")
	}
	return x, note, nil
}

// fetchStatus asks one place for bytes.
func fetchStatus(ctx context.Context, q verify.StatusQuery) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	request := web.Request{URL: q.URL, SameOrigin: true}
	if q.Kind() == verify.OCSPResponse {
		request.Body, request.Type = q.Request, "application/ocsp-request"
	}
	response, err := web.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered with HTTP status %d", response.StatusCode)
	}
	return readAll(response.Body, "the answer", verify.MaxStatus)
}

// The JSON of what was asked.
type askedDoc struct {
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	Serial string `json:"serial"` // of the certificate
	Kept   bool   `json:"kept"`
	Note   string `json:"note,omitempty"`
}

func (x asked) document() askedDoc {
	return askedDoc{string(x.query.Kind()), withoutSecrets(x.query.URL), x.query.Serial, x.kept, x.note}
}

func (x asked) text(w io.Writer) {
	outcome := "kept"
	if !x.kept {
		outcome = "nothing is kept"
	}
	if x.note != "" {
		outcome += ": " + x.note
	}
	fmt.Fprintf(w, "asked    %s  %s  about certificate %s  %s\n", x.query.Kind(), lock.Visible(withoutSecrets(x.query.URL)), x.query.Serial, outcome)
}
