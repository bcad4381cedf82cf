package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// Compares reports whether what a command launches bears on the decision, if it
// can be read: the releases that count name something to compare its digest
// with, or a package that something else may have been launched for. Who has it
// puts it into the Source of the request, or what speaks against it into its
// Doubt, and decides again.
func (d *Decision) Compares(l Launch) bool {
	for _, p := range d.parts {
		if p.Compares(l) {
			return true
		}
	}
	return slices.ContainsFunc(d.found.releases, func(c counted) bool {
		rel := c.statement.Release()
		switch {
		case l.Launcher == "npx": // of the others nothing is known but their words
			return len(rel.PURLs)+len(rel.Artifacts) > 0
		case l.Script != "", l.Program != "":
			return slices.ContainsFunc(rel.Artifacts, func(r attest.Resource) bool { return r.Digest["sha256"] != "" })
		}
		return false
	})
}

// Named returns what the releases that count name as serving them, for people
// and fit for a terminal: package URLs, origins, and artifacts with digests.
func (d *Decision) Named() []string {
	var names []string
	for _, c := range d.used {
		names = appendNew(names, c.named()...)
	}
	return names
}

// named returns what one release names.
func (c counted) named() []string {
	rel := c.statement.Release()
	var names []string
	for _, name := range slices.Concat(rel.PURLs, rel.Origins) {
		// Where there is a digest the name alone is not enough.
		if !slices.ContainsFunc(rel.Artifacts, func(r attest.Resource) bool { return r.URI == name && len(r.Digest) > 0 }) {
			names = append(names, shown(name))
		}
	}
	for _, r := range rel.Artifacts {
		name := "artifact"
		if r.URI != "" {
			name += " " + shown(r.URI)
		}
		for _, algorithm := range slices.Sorted(maps.Keys(r.Digest)) {
			name += " " + shown(algorithm+":"+r.Digest[algorithm])
		}
		names = append(names, name)
	}
	return names
}

// launchText describes a launch for people, fit for a terminal: the URL or
// the command, what was read of that, and what makes that no matter.
func launchText(s lock.Source) string {
	switch {
	case s.URL != "":
		return shown(s.URL)
	case len(s.Command) == 0:
		return "files"
	}
	text := shown(strings.Join(s.Command, " "))
	for i, a := range s.Artifacts {
		text += []string{", which is ", " and "}[min(i, 1)] + a.String()
	}
	if names := Steering(s); len(names) > 0 {
		text += ", with " + shown(strings.Join(names, ", ")) + " set"
	}
	return text
}

// names reports whether what was read is what the words of a command name.
func (l Launch) names(read lock.Artifact) bool {
	if read.PURL == "" {
		return read.File != "" && (read.File == l.Script || read.File == l.Program)
	}
	have, ok := parsePURL(read.PURL)
	return ok && l.Launcher == "npx" && coordinate{typ: "npm", name: l.Name, version: l.Version}.samePackage(have)
}

// isAbout reports whether what was read is what a release names: a file may be
// any artifact, a package is one that is called by its purl.
func isAbout(read lock.Artifact, signed attest.Resource) bool {
	if read.PURL == "" {
		return true
	}
	have, ok := parsePURL(read.PURL)
	named, also := parsePURL(signed.URI)
	return ok && also && named.samePackage(have)
}

// equals reports whether two digest sets are of the same content: they have a
// digest in common that nobody can find a second content for, and contradict
// each other in none.
func equals(a, b map[string]string) bool {
	for algorithm, hex := range a {
		if strong(algorithm) && hex != "" && b[algorithm] == hex {
			return !differs(a, b)
		}
	}
	return false
}

// differs reports whether two digest sets contradict each other.
func differs(a, b map[string]string) bool {
	for algorithm, hex := range a {
		if other := b[algorithm]; strong(algorithm) && other != "" && other != hex {
			return true
		}
	}
	return false
}

func strong(algorithm string) bool {
	return algorithm == "sha256" || algorithm == "sha384" || algorithm == "sha512"
}

// is reports whether what was read of a command agrees with c, which it names,
// and with what is signed of that.
func (c coordinate) is(read []lock.Artifact, signed []attest.Resource) bool {
	for _, a := range read {
		have, ok := parsePURL(a.PURL)
		if !ok || !c.samePackage(have) {
			return false
		}
		if slices.ContainsFunc(signed, func(r attest.Resource) bool { return isAbout(a, r) && differs(a.Digest, r.Digest) }) {
			return false
		}
	}
	return true
}

// samePackage reports whether c and d are one package, as far as both say its
// version.
func (c coordinate) samePackage(d coordinate) bool {
	return c.typ == d.typ && c.name == d.name && (c.version == "" || d.version == "" || c.version == d.version)
}

// readVersion returns the version of the package that was read, if there is
// one.
func readVersion(read []lock.Artifact) string {
	for _, a := range read {
		if c, ok := parsePURL(a.PURL); ok {
			return c.version
		}
	}
	return ""
}
