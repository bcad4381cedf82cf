// Package launch reads, after a command was started, the digest of what it
// launched: of a program or script the SHA-256 of its file, of an npm package
// what npm recorded of the archive it installed for npx. Before the start it
// looks for what would make npx run something else.
//
// It tells apart what a publisher released from what runs under its name. It is
// no guard against code that runs on this machine already: whoever can write
// the files and npm's records, a server that was started included, can also
// write what is read here. Dependencies, interpreters and what a program loads
// are not looked at.
//
// Nothing is read of uvx, docker and podman: uv keeps the digest of a wheel only
// in the internal format of its cache, which changes between versions, and that
// of an image by tag is the daemon's to tell. A digest that the command names is
// read by package verify.
package launch

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// MaxFile is how many bytes a program or script may have: 1 GiB.
const MaxFile = 1 << 30

// A Command is what is to be started.
type Command struct {
	Argv []string // program and arguments, without placeholders
	Dir  string   // working directory; empty: this process's own
	Env  []string // "name=value", the last one of a name counts; nil: this process's own
}

// A Run is a command that was started, with what its surroundings were before.
// The zero Run launches nothing that can be read.
type Run struct {
	Command
	started  time.Time // by the clock of the file system
	takeover string    // by which npx runs something else than the command names; empty: nothing
	other    string    // which npx may run in the place of what is in its cache; empty: nothing
}

// Before looks at the surroundings of a command that is about to be started:
// what is started could put right what there was. It reads names of files, and
// a package.json here and there, and only for npx.
func Before(c Command) Run {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	r := Run{Command: c, started: time.Now()}
	if l := verify.LaunchOf(c.Argv); l.Launcher == "npx" {
		r.lookAround(l)
	}
	return r
}

// Read returns what a command launched, as it is now. It starts nothing and
// uses no network. A *DoubtError says that it may have launched something else
// than it names. Any other error says why nothing is known of it, which is no
// yes and no no; it wraps the cause of a context that ended.
func (r *Run) Read(ctx context.Context) (lock.Artifact, error) {
	switch l := verify.LaunchOf(r.Argv); {
	case l.Launcher == "npx":
		return r.npx(l)
	case l.Script != "":
		return fileArtifact(ctx, l.Script, r.inDir(l.Script))
	case l.Program != "":
		path, err := r.program()
		if err != nil {
			return lock.Artifact{}, err
		}
		return fileArtifact(ctx, l.Program, path)
	}
	return lock.Artifact{}, errors.New("the command does not say what it launches, or that keeps no digest")
}

// program returns the file that package os/exec starts for the command.
func (c *Command) program() (string, error) {
	cmd := exec.Command(c.Argv[0])
	if cmd.Err != nil {
		return "", fmt.Errorf("the program %q is not found: %w", c.Argv[0], cmd.Err)
	}
	return c.inDir(cmd.Path), nil
}

func (c *Command) inDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

// env returns a variable as the command sees it, empty if it is not set.
func (c *Command) env(name string) string {
	value := ""
	for _, kv := range c.Env {
		if n, v, _ := strings.Cut(kv, "="); n == name || onWindows && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

func fileArtifact(ctx context.Context, name, path string) (lock.Artifact, error) {
	digest, err := Sum(ctx, path)
	if err != nil {
		return lock.Artifact{}, fmt.Errorf("%q: %w", name, err)
	}
	return lock.Artifact{File: name, Digest: map[string]string{"sha256": digest["sha256"]}}, nil
}

// Sum returns the SHA-256 and SHA-512 of a regular file of at most MaxFile
// bytes, which a symbolic link may name, as in-toto's digest set. Errors do not
// name the file.
func Sum(ctx context.Context, path string) (map[string]string, error) {
	f, err := openRegular(path, MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h256, h512 := sha256.New(), sha512.New()
	n, err := io.Copy(io.MultiWriter(h256, h512), io.LimitReader(&interruptible{ctx, f}, MaxFile+1))
	switch {
	case err != nil:
		return nil, cause(err)
	case n > MaxFile:
		return nil, fmt.Errorf("has more than %d bytes", MaxFile)
	}
	return map[string]string{"sha256": hex.EncodeToString(h256.Sum(nil)), "sha512": hex.EncodeToString(h512.Sum(nil))}, nil
}

// openRegular opens a regular file of at most limit bytes, which may grow. What
// is none, a pipe say, is not opened, as that could wait for ever.
func openRegular(path string, limit int64) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("has more than %d bytes", limit)
	}
	f, err := os.Open(path)
	return f, cause(err)
}

// cause leaves the path, which the message has already as the command names it,
// out of an error.
func cause(err error) error {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// An interruptible reads until its context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
