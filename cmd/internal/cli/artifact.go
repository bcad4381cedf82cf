package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/cmd/internal/launch"
	"github.com/mcpsign/mcpsign/lock"
)

const artifactHint = "write --artifact PURL=FILE, PURL=sha512-BASE64 as npm prints it, PURL=sha256:HEX, or the file of a program by itself"

// integrity matches a digest in the place of a file: of npm, or ours.
func integrity() *regexp.Regexp {
	return regexp.MustCompile(`=(sha(?:256|384|512)(?:-[A-Za-z0-9+/]+={0,2}|:[0-9a-f]+))$`)
}

// readArtifacts reads the values of --artifact: [PURL=]FILE, of which the digests
// are computed, or PURL=DIGEST. They are sorted by the purl.
func readArtifacts(ctx context.Context, values []string) ([]attest.Resource, error) {
	var list []attest.Resource
	for _, v := range values {
		r, err := readArtifact(ctx, v)
		if err != nil {
			return nil, fail(ExitUsage, fmt.Errorf("--artifact %s: %w", lock.Visible(v), err), artifactHint)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b attest.Resource) int { return strings.Compare(a.URI, b.URI) })
	return list, nil
}

func readArtifact(ctx context.Context, value string) (attest.Resource, error) {
	if !strings.HasPrefix(value, purlPrefix) {
		digest, err := launch.Sum(ctx, value)
		return attest.Resource{Digest: digest}, err
	}
	var (
		purl   string
		digest map[string]string
		err    error
	)
	if at := integrity().FindStringSubmatchIndex(value); at != nil {
		purl = value[:at[0]]
		digest, err = parseDigest(value[at[2]:])
	} else {
		// A purl may have equals signs in its qualifiers; the file comes last.
		i := strings.LastIndexByte(value, '=')
		if i < 0 || i == len(value)-1 {
			return attest.Resource{}, errors.New("there is no file and no digest behind the purl")
		}
		purl = value[:i]
		digest, err = launch.Sum(ctx, value[i+1:])
	}
	if err == nil && !isPURL(purl) {
		err = errors.New("what stands before the equals sign is no package URL")
	}
	return attest.Resource{URI: purl, Digest: digest}, err
}

// parseDigest reads ALGORITHM-BASE64 or ALGORITHM:HEX.
func parseDigest(text string) (map[string]string, error) {
	algorithm, hex, ours := strings.Cut(text, ":")
	if !ours {
		return launch.ParseIntegrity(text)
	}
	digest := map[string]string{algorithm: hex}
	return digest, lock.Artifact{File: text, Digest: digest}.Check()
}
