package attest

import (
	"fmt"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A Resource is an in-toto ResourceDescriptor, of which the URI and the digests
// are used.
type Resource struct {
	URI    string
	Digest map[string]string // algorithm to lower-case hexadecimal digits
}

// check reports what makes res none; what says whose it is.
func (res Resource) check(what string) error {
	if res.URI == "" && len(res.Digest) == 0 {
		return fmt.Errorf("%s has neither uri nor digest", what)
	}
	if err := checkText("the uri of "+what, res.URI); err != nil {
		return err
	}
	for alg, hex := range res.Digest {
		if alg == "" || hex == "" || strings.Trim(hex, "0123456789abcdef") != "" {
			return fmt.Errorf("digest %s of %s is not lower-case hexadecimal", shown(alg), what)
		}
		if err := checkText("a digest of "+what, alg, hex); err != nil {
			return err
		}
	}
	return nil
}

func (res *Resource) read(r *canonical.Reader) error {
	return r.Object(func(name string) (err error) {
		switch name {
		case "uri":
			res.URI, err = readText(r)
		case "digest":
			res.Digest = make(map[string]string)
			err = r.Object(func(alg string) (err error) {
				res.Digest[alg], err = r.String()
				return err
			})
			if err == nil && len(res.Digest) == 0 {
				err = r.Fail(canonical.Syntax, "a digest set is empty")
			}
		default:
			err = r.Unknown(name)
		}
		return err
	})
}
