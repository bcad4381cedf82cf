package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpsign/mcpsign/lock"
)

// exclusive runs f while no other process changes the store.
func (s *store) exclusive(f func() error) error {
	if err := s.root.Mkdir(evidenceDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := filepath.Join(evidenceDir, "writer.lock")
	// Made in the folder first: a symbolic link out of it is an error.
	if _, err := s.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		file, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return locked(filepath.Join(s.root.Name(), name), func() error {
		if err := s.writeAttributes(); err != nil {
			return err
		}
		return f()
	})
}

// patience is how long a writer waits for others. They take milliseconds; one
// that hangs must not hang all.
const patience = 10 * time.Second

// locked runs f while this process holds the lock file, which is gone
// afterwards.
func locked(path string, f func() error) error {
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a FIFO waits for its other end
			return fail(ExitInternal, fmt.Errorf("%s is not a regular file", lock.Visible(path)), "remove it: mcpsign makes a file of that name while it writes")
		}
		l := flock.New(path)
		ok, err := l.TryLock()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		// The one who held it before has removed it meanwhile, and the next one
		// may hold its successor.
		if held, statErr := l.Stat(); ok && statErr == nil && sameFile(path, held) {
			err = f()
			_ = os.Remove(path) // where an open file can't be removed it stays, unlocked
			return errors.Join(err, l.Unlock())
		}
		if err := l.Close(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if time.Since(start) > patience {
			return fail(ExitInternal, fmt.Errorf("another mcpsign is writing (%s)", path), "try again when it has ended")
		}
	}
}

func sameFile(path string, held fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, held)
}

// writeFile writes a file so that at every moment either the old or the new
// content is there, whole.
func writeFile(root *os.Root, name string, data []byte, mode fs.FileMode) (err error) {
	temporary := name + "." + rand.Text() + ".tmp"
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temporary))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return root.Rename(temporary, name)
}
