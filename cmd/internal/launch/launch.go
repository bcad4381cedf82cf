// Package launch reads the digest of what a command launches: before the start
// of a program or script the SHA-256 of its file, after that of npx what npm
// recorded of the archive of the package it installed. Before the start of npx it
// looks for what would make that run something else.
//
// It tells apart what a publisher released from what runs under its name. It is
// no guard against code that runs on this machine already: who can write npm's
// records, a server that was started included, can also write what is read here.
// Dependencies, interpreters and what a program loads are not looked at.
//
// Nothing is read of uvx, docker and podman: uv keeps the digest of a wheel only
// in the internal format of its cache, which changes between versions, and that
// of an image by tag is the daemon's to tell. A digest that the command names is
// read by package verify. None of the three is configured by the folder it is
// started in.
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

// A Run is a command that was started, with what there was before; see Before.
// The zero Run launches nothing that can be read.
type Run struct {
	Command
	started  time.Time     // by the clock of the file system
	file     lock.Artifact // of a program or script
	err      error         // why that is not known
	takeover string        // by which npx runs something else than the command names; empty: nothing
	other    string        // which npx may run in the place of what is in its cache; empty: nothing
}

// Before reads what a command that is about to be started launches, and what is
// around that: what is started could put it right. Of a program or script it
// reads the file, for npx names of files, and a package.json here and there.
func Before(ctx context.Context, c Command) Run {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	r := Run{Command: c, started: time.Now()}
	switch l := verify.LaunchOf(c.Argv); {
	case l.Launcher == "npx":
		r.lookAround(l)
	case l.Script != "":
		r.file, r.err = fileArtifact(ctx, l.Script, c.inDir(l.Script))
	case l.Program != "":
		path := ""
		if path, r.err = c.program(); r.err == nil {
			r.file, r.err = fileArtifact(ctx, l.Program, path)
		}
	}
	return r
}

// Read returns what the command launched. It starts nothing and uses no network.
// A *DoubtError says that it may have launched something else than it names. Any
// other error says why nothing is known of it, which is no yes and no no; it
// wraps the cause of a context that ended.
func (r *Run) Read() (lock.Artifact, error) {
	switch l := verify.LaunchOf(r.Argv); {
	case l.Launcher == "npx":
		return r.npx(l)
	case l.Script != "", l.Program != "":
		return r.file, r.err
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
	h := sha256.New()
	if err := copyFile(ctx, h, path); err != nil {
		return lock.Artifact{}, fmt.Errorf("%q: %w", name, err)
	}
	return lock.Artifact{File: name, Digest: map[string]string{"sha256": hex.EncodeToString(h.Sum(nil))}}, nil
}

// Sum returns the SHA-256 and SHA-512 of a regular file of at most MaxFile
// bytes, which a symbolic link may name, as in-toto's digest set. Errors do not
// name the file.
func Sum(ctx context.Context, path string) (map[string]string, error) {
	h256, h512 := sha256.New(), sha512.New()
	if err := copyFile(ctx, io.MultiWriter(h256, h512), path); err != nil {
		return nil, err
	}
	return map[string]string{"sha256": hex.EncodeToString(h256.Sum(nil)), "sha512": hex.EncodeToString(h512.Sum(nil))}, nil
}

// copyFile writes a regular file of at most MaxFile bytes to w.
func copyFile(ctx context.Context, w io.Writer, path string) error {
	f, err := openRegular(path, MaxFile)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(w, io.LimitReader(&interruptible{ctx, f}, MaxFile+1))
	if err == nil && n > MaxFile {
		err = fmt.Errorf("has more than %d bytes", MaxFile)
	}
	return cause(err)
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
