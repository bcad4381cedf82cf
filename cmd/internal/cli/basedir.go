package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpsign/mcpsign/lock"
)

// baseFolder returns the folder that a variable of the XDG Base Directory
// Specification names, on Windows also one of its own, or the default below the
// home folder. A path that is not absolute is ignored, as the specification
// says. It is an error if no home folder is known.
func (p *Process) baseFolder(variable, windows string, below ...string) (string, error) {
	variables := []string{variable}
	if runtime.GOOS == "windows" {
		variables = append(variables, windows)
	}
	for _, name := range variables {
		if path := p.Getenv(name); filepath.IsAbs(path) {
			return path, nil
		}
	}
	home, err := p.homeFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{home}, below...)...), nil
}

// homeFolder returns the user's home folder, absolute: by the environment, or
// else by the user database.
func (p *Process) homeFolder() (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if path := p.Getenv(name); filepath.IsAbs(path) {
		return path, nil
	}
	cause := errors.New("the user database is not asked")
	if p.UserHome != nil {
		path, err := p.UserHome()
		if err == nil && filepath.IsAbs(path) {
			return path, nil
		}
		if cause = err; err == nil {
			cause = errors.New("the user database has no absolute path")
		}
	}
	return "", fmt.Errorf("%s is not an absolute path: %w", name, cause)
}

// absent returns nil if it is certain that there was no file of that path when it
// was not found: each folder above is there and leads somewhere, or is absent
// itself. One that is there now was made since, by another process.
func absent(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if info, err = os.Stat(at); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is a link that leads nowhere", lock.Visible(at))
			}
		}
		switch {
		case err != nil:
			return err
		case at != path && !info.IsDir():
			return fmt.Errorf("%s is not a folder", lock.Visible(at))
		}
		return nil
	}
}

// nothingAt is absent, but that a file which is there is an error.
func nothingAt(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there", lock.Visible(path))
	}
	return absent(path)
}

// absentIn returns nil if a folder had nothing of that name when it was not found,
// not even a link that leads nowhere.
func absentIn(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = fmt.Errorf("%s is a link that leads nowhere", lock.Visible(filepath.Join(root.Name(), name)))
	}
	return err
}
