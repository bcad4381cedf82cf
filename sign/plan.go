package sign

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
)

// logVersions are major versions of Rekor's API.
type logVersions []uint32

var rekorVersions = logVersions(sgsign.RekorAPIVersions)

// A plan is which services are asked, in the end.
type plan struct {
	fulcio string // empty: none
	tsas   []string
	logs   []logService
}

type logService struct {
	url     string
	version uint32
}

func (p plan) empty() bool { return p.fulcio == "" && len(p.tsas) == 0 && len(p.logs) == 0 }

func (p plan) checkKeyless() error {
	if p.fulcio == "" {
		return errors.New("signing config: names no Fulcio, which keyless signing needs")
	}
	if len(p.logs) == 0 {
		return errors.New("signing config: names no Rekor log, which keyless signing needs")
	}
	for _, l := range p.logs {
		if l.version >= 2 && len(p.tsas) == 0 {
			return fmt.Errorf("signing config: %s is a Rekor v2, which tells no time: a timestamp authority is needed as well", l.url)
		}
	}
	return nil
}

// plan selects the services. A list of the signing config that is not empty but
// has nothing that is valid and understood is an error.
func (s Services) plan(keyless bool, versions logVersions) (p plan, err error) {
	if s.TSA != "" && s.NoTimestamp {
		return plan{}, errors.New("a timestamp authority is named, and no timestamp asked for")
	}
	if s.TSA != "" {
		if err := checkURL(s.TSA, true); err != nil {
			return plan{}, fmt.Errorf("timestamp authority: %w", err)
		}
		p.tsas = []string{s.TSA}
	}
	if len(s.SigningConfig) == 0 {
		return p, nil
	}
	if s.Now.IsZero() {
		return plan{}, errors.New("selecting services of the signing config needs the time")
	}
	config, err := parseConfig(s.SigningConfig)
	if err != nil {
		return plan{}, fmt.Errorf("signing config: %w", err)
	}
	if keyless {
		err = p.addFulcio(config, s.Now)
	}
	if err == nil {
		err = p.addLogs(config, s.Now, versions)
	}
	if err == nil && s.TSA == "" && !s.NoTimestamp {
		err = p.addTSAs(config, s.Now)
	}
	if err == nil && !keyless && p.empty() {
		err = errors.New("names no log and no timestamp authority")
	}
	if err != nil {
		return plan{}, fmt.Errorf("signing config: %w", err)
	}
	return p, nil
}

// parseConfig refuses unknown members, and what makes sigstore-go panic.
func parseConfig(data []byte) (*sgroot.SigningConfig, error) {
	pb, err := sgroot.NewSigningConfigProtobuf(data)
	if err != nil {
		return nil, err
	}
	if len(pb.GetRekorTlogUrls()) > 0 && pb.GetRekorTlogConfig() == nil {
		return nil, errors.New("rekorTlogConfig is missing")
	}
	if len(pb.GetTsaUrls()) > 0 && pb.GetTsaConfig() == nil {
		return nil, errors.New("tsaConfig is missing")
	}
	return sgroot.NewSigningConfigFromProtobuf(pb)
}

func (p *plan) addFulcio(config *sgroot.SigningConfig, now time.Time) error {
	cas := config.FulcioCertificateAuthorityURLs()
	if len(cas) == 0 {
		return nil
	}
	ca, err := sgroot.SelectService(cas, sgsign.FulcioAPIVersions, now)
	if err == nil {
		err = checkURL(ca.URL, false) // the identity token is sent there
	}
	if err != nil {
		return fmt.Errorf("caUrls: %w", err)
	}
	p.fulcio = ca.URL
	return nil
}

func (p *plan) addLogs(config *sgroot.SigningConfig, now time.Time, versions logVersions) error {
	logs := config.RekorLogURLs()
	if len(logs) == 0 {
		return nil
	}
	if len(versions) == 0 {
		return errors.New("rekorTlogUrls: Ed25519 signatures can't be logged: use an ECDSA key, or a config without a log")
	}
	selected, err := sgroot.SelectServices(logs, config.RekorLogURLsConfig(), versions, now)
	if err != nil {
		if !slices.Contains(versions, 1) {
			err = fmt.Errorf("P-384 signatures can be logged in Rekor v2 only: %w", err)
		}
		return fmt.Errorf("rekorTlogUrls: %w", err)
	}
	for _, l := range selected {
		if err := checkURL(l.URL, false); err != nil {
			return fmt.Errorf("rekorTlogUrls: %w", err)
		}
		p.logs = append(p.logs, logService{l.URL, l.MajorAPIVersion})
	}
	return nil
}

func (p *plan) addTSAs(config *sgroot.SigningConfig, now time.Time) error {
	tsas := config.TimestampAuthorityURLs()
	if len(tsas) == 0 {
		return nil
	}
	selected, err := sgroot.SelectServices(tsas, config.TimestampAuthorityURLsConfig(), sgsign.TimestampAuthorityAPIVersions, now)
	if err != nil {
		return fmt.Errorf("tsaUrls: %w", err)
	}
	for _, t := range selected {
		if err := checkURL(t.URL, true); err != nil {
			return fmt.Errorf("tsaUrls: %w", err)
		}
		p.tsas = append(p.tsas, t.URL)
	}
	return nil
}

// checkURL refuses what is no URL of a service. Plain HTTP is for loopback
// and, since timestamps are signed and many authorities offer nothing else,
// for those.
func checkURL(s string, plain bool) error {
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	if u.User != nil {
		return fmt.Errorf("the URL of %s has a user name or password in it", u.Host)
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	loopback := strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
	if host == "" || u.Scheme != "https" && !(u.Scheme == "http" && (plain || loopback)) {
		return fmt.Errorf("%q is not an https URL", s)
	}
	return nil
}
