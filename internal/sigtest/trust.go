package sigtest

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
)

// Parts are services that a signing config names.
type Parts uint

const (
	WithFulcio Parts = 1 << iota
	WithRekorV1
	WithRekorV2
	WithTSA
)

// SigningConfig returns a signing configuration v0.2 that names the given
// services of s, valid since 2020. It asks for one log and one timestamp.
func (s *Sigstore) SigningConfig(with Parts) []byte {
	at := func(on bool, url string, version uint32) []sgroot.Service {
		if !on {
			return nil
		}
		return []sgroot.Service{{URL: url, MajorAPIVersion: version, ValidityPeriodStart: notBefore, Operator: "sigtest"}}
	}
	logs := append(at(with&WithRekorV1 != 0, s.urls.rekorV1, 1), at(with&WithRekorV2 != 0, s.urls.rekorV2, 2)...)
	one := sgroot.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	return compact(must(must(sgroot.NewSigningConfig(sgroot.SigningConfigMediaType02,
		at(with&WithFulcio != 0, s.urls.fulcio, 1), nil, logs, one, at(with&WithTSA != 0, s.TSAURL(), 1), one)).MarshalJSON()))
}

// TrustedRoot returns a trusted_root.json that trusts every service of s, from
// 2020 on.
func (s *Sigstore) TrustedRoot() []byte {
	ct := map[string]*sgroot.TransparencyLog{}
	if s.Fulcio.CTLog != nil {
		addLog(ct, s.urls.fulcio, s.Fulcio.CTLog.LogID(), s.Fulcio.CTLog.key.Public(), crypto.SHA256)
	}
	logs := map[string]*sgroot.TransparencyLog{}
	addLog(logs, s.urls.rekorV1, s.RekorV1.LogID(), s.RekorV1.key.Public(), crypto.SHA256)
	addLog(logs, s.urls.rekorV2, s.RekorV2.LogID(), s.RekorV2.key.Public(), crypto.SHA512)

	chain := s.TSA.Chain()
	return compact(must(must(sgroot.NewTrustedRoot(sgroot.TrustedRootMediaType01,
		[]sgroot.CertificateAuthority{&sgroot.FulcioCertificateAuthority{
			URI: s.urls.fulcio, ValidityPeriodStart: notBefore,
			Root: s.Fulcio.CA.Certificate, Intermediates: []*x509.Certificate{s.Fulcio.Sub.Certificate},
		}},
		ct,
		[]sgroot.TimestampingAuthority{&sgroot.SigstoreTimestampingAuthority{
			URI: s.TSAURL(), ValidityPeriodStart: notBefore,
			Leaf: chain[0], Intermediates: chain[1 : len(chain)-1], Root: chain[len(chain)-1],
		}},
		logs)).MarshalJSON()))
}

func addLog(logs map[string]*sgroot.TransparencyLog, url string, id []byte, pub crypto.PublicKey, h crypto.Hash) {
	logs[hex.EncodeToString(id)] = &sgroot.TransparencyLog{
		BaseURL: url, ID: id, ValidityPeriodStart: notBefore,
		HashFunc: crypto.SHA256, PublicKey: pub, SignatureHashFunc: h,
	}
}

// compact makes the output of protojson, which varies its spaces, stable.
func compact(data []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		panic(err)
	}
	return b.Bytes()
}
