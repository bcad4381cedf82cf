package cli

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/verify"
)

// end returns when a signature without a timestamp ends: with the first of its
// certificates. It is zero for others.
func (f *signerFlags) end() (time.Time, error) {
	if !f.noTimestamp {
		return time.Time{}, nil
	}
	leaf, above, err := f.certificates()
	if err != nil {
		return time.Time{}, err
	}
	end := leaf.NotAfter
	for _, c := range above {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end, nil
}

// untimedPolicy is a policy, on one line, by which a release counts that was
// signed without a timestamp. Users have to have the roots.
func untimedPolicy(server string, id verify.Identity) string {
	data, err := json.Marshal(map[string]any{
		"version":    1,
		"publishers": map[string]any{ownName: untimedPublisher(strings.TrimPrefix(id.String(), "x509:"), "ROOTS.pem")},
		"rules":      []any{map[string]any{"servers": []string{server}, "signedBy": []string{ownName}}},
	})
	if err != nil {
		return err.Error() // no text fails to be JSON
	}
	return string(data)
}
