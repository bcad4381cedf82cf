package launch

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// An entry is what a record says of one package.
type entry struct {
	name, version, integrity string
	link                     bool
}

// parseRecord returns the package of that name out of
// node_modules/.package-lock.json, which npm writes about what is installed
// there: a lockfile of version 2 or 3. Members that do not matter here are not
// looked at. One that is a link, or another package under the name, is an error.
func parseRecord(data []byte, name string) (lock.Artifact, error) {
	var found *entry
	version := ""
	r := canonical.NewReader(data)
	err := r.Object(func(member string) (err error) {
		switch member {
		case "lockfileVersion":
			version, err = r.Number()
		case "packages":
			found, err = findEntry(r, "node_modules/"+name)
		default:
			err = r.Skip()
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return lock.Artifact{}, err
	case version != "2" && version != "3":
		return lock.Artifact{}, fmt.Errorf("lockfileVersion is %q, not 2 or 3", version)
	case found == nil:
		return lock.Artifact{}, errors.New("the package is not in it")
	case found.link, found.name != "" && found.name != name:
		return lock.Artifact{}, errors.New("it is a link, or another package under the name")
	case found.version == "":
		return lock.Artifact{}, errors.New("there is no version")
	}
	digest, err := ParseIntegrity(found.integrity)
	if err != nil {
		return lock.Artifact{}, err
	}
	return lock.Artifact{PURL: npmPURL(name, found.version), Digest: digest}, nil
}

// findEntry reads the packages and returns the one at a place, nil if there is
// none.
func findEntry(r *canonical.Reader, place string) (found *entry, err error) {
	err = r.Object(func(at string) error {
		if at != place {
			return r.Skip()
		}
		found = &entry{}
		return r.Object(func(member string) (err error) {
			switch member {
			case "name":
				found.name, err = r.String()
			case "version":
				found.version, err = r.String()
			case "integrity":
				found.integrity, err = r.String()
			case "link":
				found.link, err = r.Bool()
			default:
				err = r.Skip()
			}
			return err
		})
	})
	return found, err
}

// npmPURL returns the package URL of a version of an npm package.
func npmPURL(name, version string) string {
	return "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
}

// ParseIntegrity reads integrity metadata as npm records it (W3C Subresource
// Integrity section 3.5): digests "sha512-BASE64" with white space between. It
// returns those of SHA-256, SHA-384 and SHA-512, of which there must be one and
// none twice, in hexadecimal digits. Options behind a question mark are an
// error.
func ParseIntegrity(text string) (map[string]string, error) {
	digest := make(map[string]string)
	for _, word := range strings.Fields(text) {
		algorithm, value, _ := strings.Cut(word, "-")
		size := map[string]int{"sha256": 32, "sha384": 48, "sha512": 64}[algorithm]
		if size == 0 {
			continue
		}
		sum, err := base64.StdEncoding.Strict().DecodeString(value)
		if err != nil || len(sum) != size {
			return nil, fmt.Errorf("%q is no digest in base64", word)
		}
		if digest[algorithm] != "" {
			return nil, fmt.Errorf("there are several digests of %s", algorithm)
		}
		digest[algorithm] = hex.EncodeToString(sum)
	}
	if len(digest) == 0 {
		return nil, fmt.Errorf("the integrity %.100q has no digest of SHA-256, SHA-384 or SHA-512", text)
	}
	return digest, nil
}
