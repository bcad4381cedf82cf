package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Launch is what the words of a command say of what it launches: a package
// through npx, uvx, docker or podman; a script that an interpreter runs; or the
// program itself. Nothing was looked up: a script or program need not be there.
// The zero Launch stands for a command of which nothing is known.
type Launch struct {
	Launcher string // npx, uvx, docker or podman
	Package  string // as the command writes it: "@acme/weather@latest"
	Name     string // of the package alone: "@acme/weather"; an image's with its registry
	Version  string // of the package; empty if the command names none
	Script   string // FILE of INTERPRETER FILE ARGS
	Program  string // as the command names it
}

// LaunchOf reads a command, program and arguments. An option of a launcher or
// interpreter that is not known may do anything: then nothing is known of what
// is launched. Nothing is either of a launcher or interpreter that is named by a
// path, ./npx say: only the PATH is the user's own word on what has that name.
func LaunchOf(command []string) Launch {
	if len(command) == 0 {
		return Launch{}
	}
	program := programName(command[0])
	if !runsOthers(program) {
		return Launch{Program: command[0]}
	}
	if word, c, ok := launched(command); ok {
		return Launch{Launcher: program, Package: word, Name: c.name, Version: c.version}
	}
	if script, ok := scriptOf(program, command); ok {
		return Launch{Script: script}
	}
	return Launch{}
}

// A launcher is a program that runs a package it is told the name of.
type launcher struct {
	verb     string   // the argument before its options, empty if there is none
	flags    []string // options without a value
	values   []string // options with one
	versions []string // options whose value is a version: anything else may name a file
	pkg      []string // options whose value is the package; its command follows
	resolve  func(string) (coordinate, bool)
}

// launcherOf returns what is known of a program.
func launcherOf(program string) (launcher, bool) {
	switch program {
	case "npx":
		return launcher{
			flags: []string{"-y", "--yes", "-q", "--quiet", "--silent"},
			pkg:   []string{"-p", "--package"}, resolve: npmPackage,
		}, true
	case "uvx":
		return launcher{
			flags:    []string{"-q", "--quiet", "--isolated", "--offline", "--no-progress"},
			versions: []string{"-p", "--python"},
			pkg:      []string{"--from"}, resolve: pypiPackage,
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

// programName returns the name of a program, which is a path on either kind of
// system.
func programName(program string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	for _, suffix := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// isBare reports whether a program is named without a path, on either kind of
// system.
func isBare(program string) bool { return !strings.ContainsAny(program, `/\`) }

// launched returns the package that a command runs, and the word that names it.
func launched(argv []string) (string, coordinate, bool) {
	if len(argv) == 0 || !isBare(argv[0]) {
		return "", coordinate{}, false
	}
	l, ok := launcherOf(programName(argv[0]))
	args := argv[1:]
	if !ok || l.verb != "" && (len(args) == 0 || args[0] != l.verb) {
		return "", coordinate{}, false
	}
	if l.verb != "" {
		args = args[1:]
	}
	word, command, ok := l.find(args)
	if !ok {
		return "", coordinate{}, false
	}
	c, ok := l.resolve(word)
	if command != nil && !c.hasCommand(*command) {
		return "", coordinate{}, false
	}
	return word, c, ok
}

// find returns the package among the arguments: the first that is no option,
// or the value of the option for it, with the command that follows, which else
// is nil.
func (l launcher) find(args []string) (word string, command *string, ok bool) {
	var named []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			if len(named) == 0 {
				return arg, nil, true
			}
			return named[0], &arg, len(named) == 1
		}
		option, value, joined := strings.Cut(arg, "=")
		versioned := slices.Contains(l.versions, option)
		takes := versioned || slices.Contains(l.values, option) || slices.Contains(l.pkg, option)
		switch {
		case takes && !joined && len(args) == 0, !takes && (joined || !slices.Contains(l.flags, option)):
			return "", nil, false
		case takes && !joined:
			value, args = args[0], args[1:]
		}
		if versioned && !pythonVersion.MatchString(value) {
			return "", nil, false
		}
		if slices.Contains(l.pkg, option) {
			named = append(named, value)
		}
	}
	return "", nil, false
}

// hasCommand reports whether a command is one that the package has, and not
// another that is installed: it is called as the package is, without the scope.
// Which others the package has is not known.
func (c coordinate) hasCommand(command string) bool {
	name := c.name[strings.LastIndexByte(c.name, '/')+1:]
	return command == name || c.typ == "pypi" && pypiName.MatchString(command) && normalPyPI(command) == name
}

var (
	pythonVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}$`)

	interpreter = regexp.MustCompile(`^(node|nodejs|python[0-9.]*w?)$`)
	scriptFile  = regexp.MustCompile(`\.(js|mjs|cjs|ts|mts|cts|py|pyz)$`)
	// Programs that run what their arguments or the working directory say.
	otherRunner = regexp.MustCompile(`^((ba|da|z|k|mk|c|tc|fi|a|pw)?sh|cmd|powershell|env|sudo|doas|nohup|nice|timeout|xargs|find|make|git|wine|java|javaw|dotnet|deno|bun|bunx|` +
		`npm|npx|pnpm|pnpx|yarn|yarnpkg|tsx|ts-node|corepack|uv|uvx|pip[x0-9.]*|conda|poetry|hatch|rye|docker|podman|nerdctl|` +
		`perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[a-z0-9.]*|[gm]?awk|sed|busybox|go|cargo|pypy[0-9.]*|py|ipython[0-9.]*|rscript|julia|tclsh[0-9.]*|osascript)$`)
)

// runsOthers reports whether a program is known to run what it is told: its own
// digest says nothing of that.
func runsOthers(program string) bool {
	return interpreter.MatchString(program) || otherRunner.MatchString(program)
}

// scriptOf returns the file that an interpreter runs.
func scriptOf(program string, command []string) (string, bool) {
	if !interpreter.MatchString(program) || !isBare(command[0]) || len(command) < 2 || !scriptFile.MatchString(command[1]) || strings.HasPrefix(command[1], "-") {
		return "", false
	}
	return command[1], true
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
