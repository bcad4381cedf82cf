package verify

import (
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// Steering returns the variables of the environment that s sets for its command
// and that say what it runs, what that loads first, or where a launcher has its
// files and whom it trusts: with one of them no release names the launch,
// whatever its digest. Which others do the same to a server is not known.
func Steering(s lock.Source) []string {
	var names []string
	if len(s.Command) > 0 {
		for _, name := range s.Env {
			if steers(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// steers reports whether a variable is one of those that Steering returns, in
// whatever case, as some systems do not tell it apart.
func steers(variable string) bool {
	name := strings.ToUpper(variable)
	switch name {
	case "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONIOENCODING":
		return false // set for many servers, and load nothing
	case "PATH", "PATHEXT", "COMSPEC", "SHELL", "ENV", "ZDOTDIR", "SHELLOPTS", "PS4",
		"HOME", "HOMEDRIVE", "HOMEPATH", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMROOT", "WINDIR",
		"PREFIX", "GCONV_PATH", "LOCPATH", "GLIBC_TUNABLES", "LIBPATH", "SHLIB_PATH",
		"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "REGISTRIES_CONFIG_PATH", "REGISTRY_AUTH_FILE", "CLASSPATH", "_JAVA_OPTIONS", "PERLLIB":
		return true
	}
	return slices.ContainsFunc([]string{
		"LD_", "DYLD_", "BASH", "XDG_", "OPENSSL_", "SSL_CERT_",
		"NODE_", "NPM_CONFIG_", "COREPACK_", "VOLTA_", "NVM_", "NODENV_", "ASDF_", "MISE_", "ELECTRON_",
		"PYTHON", "PYENV_", "UV_", "PIP_", "DOCKER_", "CONTAINER_", "CONTAINERS_", "PODMAN_",
		"JAVA_", "JDK_", "DOTNET_", "CORECLR_", "COR_", "PERL5", "PERL_", "RUBY", "GEM_", "BUNDLE_", "LUA_", "PHP",
	}, func(family string) bool { return strings.HasPrefix(name, family) })
}
