package verify

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// isBound reports whether a release names what is launched, which is not in
// doubt.
func (r *Request) isBound(rel attest.Release) bool { return r.Doubt == "" && bound(r.Source, rel) }

// bound reports whether a release names what is launched, by these rules.
//
// Of a URL, the origin is among its origins.
//
// Of a command, the digest of what it launches, where that was read (see
// lock.Source), equals one of its artifacts: of a package one that is called by
// its purl, of a program or script any. Or else the package or image that npx,
// uvx, docker or podman is given is among its purls: with the version that the
// command names or that was read, one without a version by its name alone, and
// one with a digest in the command by that digest. A package of which the release
// has an artifact with another digest of the same algorithm is bound by nothing;
// of one whose digest is not known the purl is enough.
//
// Other commands, arguments that are not understood, a launcher or interpreter
// that is named by a path, and commands in whose environment the source sets
// what says where programs, packages or libraries come from (see Steering), are
// bound to nothing. Dependencies of a package, the interpreter, the arguments and
// the rest of the environment are not looked at. What stands behind an image is
// such arguments, which can replace the command of the image, and the variables
// that docker and podman set in a container are not looked at either: a release
// that names an image names every program in it, however that is told to run.
func bound(s lock.Source, rel attest.Release) bool {
	if s.URL != "" {
		return boundOrigin(s.Origin(), rel.Origins)
	}
	if len(Steering(s)) > 0 {
		return false
	}
	l := LaunchOf(s.Command)
	for _, a := range s.Artifacts {
		if l.names(a) && slices.ContainsFunc(rel.Artifacts, func(r attest.Resource) bool { return isAbout(a, r) && equals(a.Digest, r.Digest) }) {
			return true
		}
	}
	_, want, ok := launched(s.Command)
	if !ok || !want.is(s.Artifacts, rel.Artifacts) {
		return false
	}
	if want.version == "" {
		want.version = readVersion(s.Artifacts)
	}
	for _, text := range rel.PURLs {
		if have, ok := parsePURL(text); ok && want.within(have, rel.Artifacts) {
			return true
		}
	}
	return false
}

// boundOrigin compares origins: only the case of scheme and host, and a default
// port, do not count.
func boundOrigin(launched string, signed []string) bool {
	want, ok := origin(launched)
	for _, text := range signed {
		if have, isOrigin := origin(text); ok && isOrigin && have == want {
			return true
		}
	}
	return false
}

// origin returns the origin (RFC 6454 section 4) that text is, which may have
// a slash at its end and nothing more.
func origin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port, true
}

// A coordinate is a package as a purl or an argument names it.
type coordinate struct {
	typ     string // npm, pypi, or docker for images
	name    string // with namespace; an image's with its registry
	version string // may be empty; an image's tag
	digest  string // "sha256:HEX" of an image, may be empty
}

// within reports whether c, which is launched, is the package signed.
func (c coordinate) within(signed coordinate, artifacts []attest.Resource) bool {
	if c.typ != signed.typ || c.name != signed.name {
		return false
	}
	if c.digest != "" {
		return c.digest == signed.digest || hasDigest(artifacts, c.digest)
	}
	return c.version == "" || c.version == signed.version
}

func hasDigest(artifacts []attest.Resource, digest string) bool {
	for _, a := range artifacts {
		if hex := a.Digest["sha256"]; hex != "" && "sha256:"+hex == digest {
			return true
		}
	}
	return false
}

var (
	npmName     = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	pypiName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiSigns   = regexp.MustCompile(`[-_.]+`)
	versionText = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`)
	imageName   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*$`)
	imageTag    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	imageDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// parsePURL reads a package URL of a type that is known. Qualifiers but for an
// image's repository_url and tag are no part of the coordinate.
func parsePURL(text string) (coordinate, bool) {
	rest, ok := strings.CutPrefix(text, "pkg:")
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	typ, path, _ := strings.Cut(rest, "/")
	version := ""
	if at := strings.LastIndexByte(path, '@'); at > 0 {
		path, version = path[:at], path[at+1:]
	}
	name, err1 := url.PathUnescape(path)
	version, err2 := url.PathUnescape(version)
	qualifiers, err3 := url.ParseQuery(query)
	if !ok || err1 != nil || err2 != nil || err3 != nil {
		return coordinate{}, false
	}
	c := coordinate{typ: typ, name: name, version: version}
	switch typ {
	case "npm":
		return c, npmName.MatchString(name)
	case "pypi":
		c.name = normalPyPI(name)
		return c, pypiName.MatchString(name)
	case "docker", "oci":
		return imagePURL(c, qualifiers)
	}
	return coordinate{}, false
}

// imagePURL makes the coordinate of an image. For docker repository_url is the
// registry; for oci it is the whole name of the repository, and the version a
// digest.
func imagePURL(c coordinate, qualifiers url.Values) (coordinate, bool) {
	registry, typ := qualifiers.Get("repository_url"), c.typ
	switch {
	case typ == "oci" && registry == "":
		return coordinate{}, false
	case typ == "oci":
		c.name = registry
	case registry != "":
		c.name = registry + "/" + c.name
	}
	c.typ = "docker"
	if imageDigest.MatchString(c.version) {
		c.digest, c.version = c.version, qualifiers.Get("tag")
	}
	c.name = fullImage(c.name)
	return c, imageName.MatchString(c.name)
}

// normalPyPI returns the normal form of a name (PyPI's name normalization).
func normalPyPI(name string) string {
	return strings.ToLower(pypiSigns.ReplaceAllString(name, "-"))
}

// fullImage returns an image's name with its registry, which is Docker Hub if
// there is none.
func fullImage(name string) string {
	first, _, slash := strings.Cut(name, "/")
	switch {
	case !slash:
		return "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + name
	}
	return name
}
