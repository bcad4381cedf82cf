package verify

import (
	"path"
	"slices"
	"strings"
)

// A launcher is a program that runs a package it is told the name of.
type launcher struct {
	verb    string   // the argument before its options, empty if there is none
	flags   []string // options without a value
	values  []string // options with one
	pkg     []string // options whose value is the package
	resolve func(string) (coordinate, bool)
}

// launcherOf returns what is known of a program. An option that is in no list
// may do anything: then nothing is known of what is launched.
func launcherOf(program string) (launcher, bool) {
	switch program {
	case "npx":
		return launcher{
			flags: []string{"-y", "--yes", "-q", "--quiet", "--silent"},
			pkg:   []string{"-p", "--package"}, resolve: npmPackage,
		}, true
	case "uvx":
		return launcher{
			flags:  []string{"-q", "--quiet", "--isolated", "--offline", "--no-progress"},
			values: []string{"-p", "--python"},
			pkg:    []string{"--from"}, resolve: pypiPackage,
		}, true
	case "docker", "podman":
		return launcher{
			verb:  "run",
			flags: []string{"-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm", "--init", "--read-only", "-q", "--quiet"},
			values: []string{"-e", "--env", "--env-file", "--name", "--network", "--net", "-p", "--publish", "-u", "--user", "-w", "--workdir",
				"-l", "--label", "-m", "--memory", "--cpus", "--pull", "--cap-drop", "--security-opt", "--add-host", "-h", "--hostname"},
			resolve: image,
		}, true
	}
	return launcher{}, false
}

// launched returns the package that a command runs.
func launched(argv []string) (coordinate, bool) {
	if len(argv) == 0 {
		return coordinate{}, false
	}
	program := strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(argv[0], `\`, "/")), ".exe"), ".cmd")
	l, ok := launcherOf(program)
	args := argv[1:]
	if !ok || l.verb != "" && (len(args) == 0 || args[0] != l.verb) {
		return coordinate{}, false
	}
	if l.verb != "" {
		args = args[1:]
	}
	return l.find(args)
}

// find returns the package among the arguments: the value of its option, or
// the first argument that is no option.
func (l launcher) find(args []string) (coordinate, bool) {
	var named []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			if len(named) == 0 {
				named = []string{arg}
			}
			break
		}
		option, value, joined := strings.Cut(arg, "=")
		takes := slices.Contains(l.values, option) || slices.Contains(l.pkg, option)
		switch {
		case takes && !joined && len(args) == 0, !takes && (joined || !slices.Contains(l.flags, option)):
			return coordinate{}, false
		case takes && !joined:
			value, args = args[0], args[1:]
		}
		if slices.Contains(l.pkg, option) {
			named = append(named, value)
		}
	}
	if len(named) != 1 {
		return coordinate{}, false
	}
	return l.resolve(named[0])
}

// npmPackage reads NAME or NAME@VERSION. A tag in place of the version says
// nothing of it; an address in its place is another package.
func npmPackage(arg string) (coordinate, bool) {
	name, version := arg, ""
	if at := strings.LastIndexByte(arg, '@'); at > 0 {
		name, version = arg[:at], arg[at+1:]
		if version == "latest" {
			version = ""
		} else if !versionText.MatchString(version) {
			return coordinate{}, false
		}
	}
	return coordinate{typ: "npm", name: name, version: version}, npmName.MatchString(name)
}

// pypiPackage reads NAME, NAME@VERSION or NAME==VERSION.
func pypiPackage(arg string) (coordinate, bool) {
	name, version, versioned := strings.Cut(arg, "==")
	if !versioned {
		name, version, versioned = strings.Cut(arg, "@")
	}
	if version == "latest" {
		version, versioned = "", false
	}
	return coordinate{typ: "pypi", name: normalPyPI(name), version: version},
		pypiName.MatchString(name) && (!versioned || versionText.MatchString(version))
}

// image reads NAME, NAME:TAG, NAME@DIGEST or NAME:TAG@DIGEST.
func image(arg string) (coordinate, bool) {
	name, digest, pinned := strings.Cut(arg, "@")
	tag := ""
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, tag = name[:at], name[at+1:]
		if !imageTag.MatchString(tag) {
			return coordinate{}, false
		}
	}
	if tag == "latest" {
		tag = ""
	}
	if pinned && !imageDigest.MatchString(digest) {
		return coordinate{}, false
	}
	return coordinate{typ: "docker", name: fullImage(name), version: tag, digest: digest}, imageName.MatchString(name)
}
