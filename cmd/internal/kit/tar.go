package kit

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// The layout of an archive (POSIX.1-1988 ustar, IEEE Std 1003.1 pax, "ustar
// Interchange Format"): a block with the header, and the content in blocks.
const (
	blockSize = 512
	nameSize  = 100
	sizeAt    = 124
	sizeEnd   = 136
	sumAt     = 148
	sumEnd    = 156
	typeAt    = 156
	magicAt   = 257
	trailer   = 2 * blockSize
)

// archive returns the archive of files, which are in order.
func archive(files []File) ([]byte, error) {
	size := trailer
	for _, f := range files {
		_, limit, err := classify(f.Name)
		if err == nil {
			err = checkSize(len(f.Data), limit)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if size += blockSize + len(f.Data) + padding(len(f.Data)); size > MaxSize {
			return nil, fmt.Errorf("more than %d bytes", MaxSize)
		}
	}
	var b bytes.Buffer
	b.Grow(size)
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(header(f.Name, len(f.Data))); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func header(name string, size int) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(size), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
}

// headerBlock returns the one spelling of a header.
func headerBlock(name string, size int) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(header(name, size))
	return b.Bytes(), err
}

// padding returns how many zeros follow content of that size.
func padding(size int) int { return -size & (blockSize - 1) }

// A kind is what a member is, by its name.
type kind int

const (
	evidenceMember kind = iota + 1
	addedMember
	trustMember
	authorityMember
	lockMember
)

var (
	evidenceName = regexp.MustCompile(`^` + regexp.QuoteMeta(evidencePrefix) + `[0-9a-f]{64}$`)
	addedName    = regexp.MustCompile(`^` + regexp.QuoteMeta(addedPrefix) + `[0-9a-f]{12}/` + EvidencePrefix + `[0-9a-f]{64}$`)
	trustName    = regexp.MustCompile(`^` + regexp.QuoteMeta(addedPrefix) + `[0-9a-f]{12}/` + TrustPrefix + `[0-9a-f]{64}$`)
)

// classify returns the kind of a member and how many bytes it can have.
func classify(name string) (kind, int, error) {
	if name == lockName {
		return lockMember, MaxLock, nil
	}
	if evidenceName.MatchString(name) {
		return evidenceMember, MaxFile, nil
	}
	if addedName.MatchString(name) {
		return addedMember, lock.MaxBundle, nil
	}
	if trustName.MatchString(name) {
		return trustMember, MaxFile, nil
	}
	if base, ok := strings.CutPrefix(name, authorityPrefix); ok {
		return authorityMember, MaxFile, CheckName(base)
	}
	return 0, 0, errors.New("no file of a kit has this name")
}

func checkSize(size, limit int) error {
	if size < 1 || size > limit {
		return fmt.Errorf("it has %d bytes, want 1 to %d", size, limit)
	}
	return nil
}

// A member is a file of an archive.
type member struct {
	name string
	kind kind
	at   int // offset of its header
	data []byte
}

// refuse returns err with the place of the member.
func (m *member) refuse(err error) error {
	return fmt.Errorf("member %s at byte %d: %w", lock.Visible(m.name), m.at, err)
}

// A reader reads the members of an archive. The package archive/tar is not for
// that: it understands more than one spelling, and members that are not files.
type reader struct {
	data []byte
	at   int
	last string // name of the member before
}

var zeros [blockSize]byte

// next returns the next member, nil after the last.
func (r *reader) next() (*member, error) {
	rest := r.data[r.at:]
	if len(rest) < blockSize {
		return nil, fmt.Errorf("cut off at byte %d, before its end", len(r.data))
	}
	block := rest[:blockSize]
	if bytes.Equal(block, zeros[:]) {
		return nil, r.end(rest)
	}
	if !bytes.HasPrefix(block[magicAt:], []byte("ustar")) {
		return nil, fmt.Errorf("no member of a tar archive begins at byte %d", r.at)
	}
	name, _, _ := bytes.Cut(block[:nameSize], []byte{0})
	m := &member{name: string(name), at: r.at}
	size, err := r.header(m, block)
	if err != nil {
		return nil, m.refuse(err)
	}
	rest = rest[blockSize:]
	if len(rest) < size+padding(size) {
		return nil, m.refuse(fmt.Errorf("cut off: %d of its %d bytes are there", min(len(rest), size), size))
	}
	if pad := rest[size : size+padding(size)]; !bytes.Equal(pad, zeros[:len(pad)]) {
		return nil, m.refuse(errors.New("what follows its content is not zero"))
	}
	m.data = rest[:size:size]
	r.at += blockSize + size + padding(size)
	r.last = m.name
	return m, nil
}

// header checks the header of m and returns the size of the content.
func (r *reader) header(m *member, block []byte) (int, error) {
	if t := block[typeAt]; t != tar.TypeReg {
		return 0, fmt.Errorf("it is %s, and no regular file", typeName(t))
	}
	var limit int
	var err error
	if m.kind, limit, err = classify(m.name); err != nil {
		return 0, err
	}
	if m.name == r.last {
		return 0, errors.New("it is there twice")
	}
	if m.name < r.last {
		return 0, fmt.Errorf("it is out of order: it follows %s", r.last)
	}
	text := strings.TrimRight(string(block[sizeAt:sizeEnd]), "\x00")
	size, err := strconv.ParseUint(text, 8, 31) // at least 31 bits in an int
	if err != nil {
		return 0, fmt.Errorf("its size %.20q is no octal number below 2^31", text)
	}
	if err := checkSize(int(size), limit); err != nil {
		return 0, err
	}
	want, err := headerBlock(m.name, int(size))
	if err != nil {
		return 0, err
	}
	return int(size), compareHeaders(block, want)
}

// compareHeaders returns an error that names the first byte that differs. The
// check sum differs with any other, and is compared last.
func compareHeaders(got, want []byte) error {
	for _, part := range [][2]int{{0, sumAt}, {sumEnd, blockSize}, {sumAt, sumEnd}} {
		for i := part[0]; i < part[1]; i++ {
			if got[i] != want[i] {
				return fmt.Errorf("byte %d of its header is %#02x, a kit has %#02x there", i, got[i], want[i])
			}
		}
	}
	return nil
}

// end checks the end of the archive.
func (r *reader) end(rest []byte) error {
	switch {
	case len(rest) < trailer:
		return fmt.Errorf("cut off at byte %d, before its end", len(r.data))
	case !bytes.Equal(rest[blockSize:trailer], zeros[:]):
		return fmt.Errorf("one block of zeros at byte %d, two end a kit", r.at)
	case len(rest) > trailer:
		return fmt.Errorf("%d bytes follow its end at byte %d", len(rest)-trailer, r.at+trailer)
	}
	return nil
}

// typeName returns what a member of a type other than a regular file's is.
func typeName(t byte) string {
	switch t {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return "a device"
	case tar.TypeDir:
		return "a folder"
	case tar.TypeXHeader, tar.TypeXGlobalHeader:
		return "a PAX header"
	case tar.TypeGNUSparse:
		return "a sparse file"
	case tar.TypeGNULongName, tar.TypeGNULongLink:
		return "a GNU header"
	}
	return fmt.Sprintf("of type %q", t)
}
