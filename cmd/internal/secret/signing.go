package secret

import (
	"slices"
	"strings"
)

// inputs is the beginning of the variables that answer what a host would ask
// a person for. They are for servers.
const inputs = "MCPSIGN_INPUT_"

// Signing reports whether an environment variable lets its holder sign, or mint
// an identity token that does: everything of mcpsign and cosign (MCPSIGN_*,
// COSIGN_*: passwords, PINs, keys) but MCPSIGN_INPUT_*, and ACTIONS_ID_TOKEN_*,
// SIGSTORE_ID_TOKEN and the like of other CI systems. Names compare without regard
// to case. Credentials that a server may need for its own work, such as
// GITHUB_TOKEN or those of a cloud, do not count.
func Signing(name string) bool {
	name = strings.ToUpper(name)
	families := []string{"MCPSIGN_", "COSIGN_", "ACTIONS_ID_TOKEN_", "CI_JOB_JWT", "CIRCLE_OIDC_TOKEN"}
	names := []string{"SIGSTORE_ID_TOKEN", "ACTIONS_RUNTIME_TOKEN", "GITLAB_OIDC_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN", "SYSTEM_ACCESSTOKEN"}
	return !strings.HasPrefix(name, inputs) &&
		(slices.Contains(names, name) || slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) }))
}
