package lock

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A ParseError says why bytes are no lockfile.
type ParseError struct {
	Line int // from 1; 0 if the cause is not on one line
	Err  error
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("lockfile: %v", e.Err)
	}
	return fmt.Sprintf("lockfile: line %d: %v", e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads a lockfile of at most 32 MiB. It recomputes every digest, and
// accepts exactly what Format writes: Format returns data again, byte for
// byte. The error is a *ParseError.
func Parse(data []byte) (*File, error) {
	if len(data) > MaxLockfile {
		return nil, &ParseError{0, tooLarge("lockfile", MaxLockfile)}
	}
	f := &File{}
	r := canonical.NewReader(data)
	r.Indented = true
	err := f.read(r)
	if err == nil {
		err = r.End()
	}
	if err != nil {
		if i := mergeMarker(data); i >= 0 {
			return nil, &ParseError{line(data, i), errors.New("there is a merge conflict marker")}
		}
		at := r.Offset()
		if e := (*canonical.Error)(nil); errors.As(err, &e) {
			at = e.Offset
		}
		return nil, &ParseError{line(data, at), asDigestError(err)}
	}
	if err := f.check(); err != nil {
		return nil, &ParseError{0, err}
	}
	w := &writer{limit: len(data), want: data, out: make([]byte, 0, 2*settleSize)}
	f.write(w)
	if w.settle(); w.same < len(data) || w.differs {
		i := w.same
		cause := errors.New("not in the form that mcpsign writes")
		if i < len(data) && data[i] == '\r' {
			cause = errors.New("line ends are CRLF: keep the file as it is written (in .gitattributes: *.lock.json -text)")
		}
		return nil, &ParseError{line(data, i), cause}
	}
	return f, nil
}

// mergeMarker returns where a line starts as Git marks a conflict, -1 if none
// does.
func mergeMarker(data []byte) int {
	for _, m := range []string{"<<<<<<< ", "=======", ">>>>>>> "} {
		if bytes.HasPrefix(data, []byte(m)) {
			return 0
		}
		if i := bytes.Index(data, []byte("\n"+m)); i >= 0 {
			return i + 1
		}
	}
	return -1
}

func line(data []byte, offset int) int {
	return bytes.Count(data[:min(offset, len(data))], []byte("\n")) + 1
}

func (f *File) read(r *canonical.Reader) error {
	version := ""
	err := r.Object(func(name string) (err error) {
		switch name {
		case "version":
			version, err = r.Number()
			if err == nil && version != strconv.Itoa(Version) {
				err = fmt.Errorf("format version %s is not known, only %d", version, Version)
			}
		case "servers":
			err = r.Array(func(i int) error {
				if i == maxServers {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d servers", maxServers))
				}
				s, err := readServer(r)
				f.Servers = append(f.Servers, s)
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err == nil && version == "" {
		err = errors.New("the format version is missing")
	}
	return err
}

func readServer(r *canonical.Reader) (Server, error) {
	var s Server
	err := r.Object(func(name string) (err error) {
		switch name {
		case "name":
			s.Name, err = r.String()
		case "source":
			s.Source, err = readSource(r)
		case "info":
			s.Info, err = readInfo(r)
		case "signed":
			err = r.Array(func(i int) error {
				if i == maxEvidence {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d signatures", maxEvidence))
				}
				e, err := readEvidence(r)
				s.Evidence = append(s.Evidence, e)
				return err
			})
		case "pins":
			err = r.Array(func(int) error {
				if len(s.Pins) == MaxDefinitions {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d pins", MaxDefinitions))
				}
				p, err := readPin(r)
				s.Pins = append(s.Pins, p)
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	return s, err
}

func readEvidence(r *canonical.Reader) (Evidence, error) {
	var e Evidence
	err := r.Object(func(name string) (err error) {
		switch name {
		case "variant":
			e.Variant, err = r.String()
		case "sequence":
			var n string
			if n, err = r.Number(); err == nil {
				if e.Sequence, err = strconv.ParseUint(n, 10, 53); err != nil {
					err = r.Fail(canonical.Syntax, "sequence is no integer below 2^53")
				}
			}
		case "signer":
			e.Signer, err = readSigner(r)
		case "bundle":
			e.Bundle, err = readDigest(r)
		case "trust":
			err = r.Array(func(i int) error {
				if i == maxTrust {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d keys and roots", maxTrust))
				}
				d, err := readDigest(r)
				e.Trust = append(e.Trust, d)
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	return e, err
}

func readDigest(r *canonical.Reader) (Digest, error) {
	s, err := r.String()
	if err != nil {
		return Digest{}, err
	}
	d, err := ParseDigest(s)
	if err != nil {
		err = r.Fail(canonical.Syntax, "not a digest of the form sha256:HEX")
	}
	return d, err
}
