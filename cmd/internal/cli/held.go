package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// maxHeld is how many bytes a held listing can have: its responses are in
// base64, so that they stay what was received.
const maxHeld = lock.MaxListing/3*4 + 1<<20

// A held is what a server listed when check did not allow all of it, kept so
// that someone can approve exactly that, and the server need not be started
// again. There is one a lockfile and server at most: the latest. What is held in
// one folder is never approved in another one.
type held struct {
	Version   int         `json:"version"`
	Server    string      `json:"server"`
	Lockfile  string      `json:"lockfile"`
	At        time.Time   `json:"at"`
	Digest    string      `json:"digest"` // of the listing
	Launch    lock.Source `json:"launch"`
	Responses [][]byte    `json:"responses"` // as received
}

// hold keeps a live listing that someone may approve, and lets go of one that is
// no longer needed. It reports whether the listing is kept.
func (a *app) hold(j *judgement, f *fetched) bool {
	s, err := a.state()
	if err != nil {
		return false
	}
	if j.decision.Err() == nil {
		s.release(j.here)
		return false
	}
	denied := (*verify.DeniedError)(nil)
	if _, err := j.decision.Pin(j.listing.Definitions...); err != nil || !errors.As(j.decision.Err(), &denied) || a.checkSecrets(f.launch) != nil {
		return false
	}
	digest, err := j.listing.Digest()
	if err != nil {
		return false
	}
	h := held{Version: 1, Server: j.server, Lockfile: j.here.lockfile, At: a.Now().UTC().Truncate(time.Second), Digest: digest.String(), Launch: f.launch, Responses: f.responses}
	if err := s.replace(s.path(heldDir, j.here), func() (any, error) { return h, nil }); err != nil {
		a.note(fmt.Sprintf("the listing could not be kept for approval: %v", err))
		return false
	}
	return true
}

// release removes what is held of a server. That it stays is no harm: it is
// shown before anyone approves it.
func (s *state) release(of sighting) { _ = os.Remove(s.path(heldDir, of)) }

// held returns what is held of a server, with how it was launched.
func (a *app) held(of sighting) (*fetched, source, error) {
	server := of.server
	s, err := a.state()
	if err != nil {
		return nil, source{}, err
	}
	path := s.path(heldDir, of)
	data, err := readRegular(path, maxHeld)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, source{}, usage("check holds what a live server lists if someone may approve it as it is; to approve what it lists now: "+a.next("approve", server, "-- COMMAND"), "no listing of "+server+" is held")
	}
	var h held
	if err == nil {
		if err = decodeState(data, &h); err == nil && (h.Version != 1 || h.Server != server || h.Lockfile != of.lockfile || h.Launch.IsZero()) {
			err = errors.New("is of another version or server")
		}
	}
	f := &fetched{responses: h.Responses, launch: h.Launch}
	if err == nil {
		f.Listing, err = lock.ParseListing(h.Responses...)
	}
	if err == nil {
		err = f.is(h.Digest)
	}
	if err != nil {
		return nil, source{}, fail(ExitTrust, fmt.Errorf("held listing %s: %w", path, err), "have it listed again: "+a.next("check", server, "SOURCE"))
	}
	f.notes = []string{fmt.Sprintf("listed at %s, and held since", h.At.Format(time.RFC3339))}
	return f, launchSource(h.Launch), nil
}

// is reports an error if a listing does not have that digest.
func (f *fetched) is(digest string) error {
	have, err := f.Digest()
	if err == nil && have.String() != digest {
		err = fmt.Errorf("has the digest %s, not %s", have, lock.Visible(digest))
	}
	return err
}

// launchSource is how a user would name a launch.
func launchSource(s lock.Source) source {
	if s.Client != "" {
		return source{client: s.Client}
	}
	return source{command: s.Command, url: s.URL, headers: s.Headers}
}
