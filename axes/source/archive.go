package source

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// member is one file of what a source has fetched.
type member struct {
	// name is its slash path; at is what messages call it.
	name, at string
	size     int64 // unpacked, as the archive says
	open     func() (io.ReadCloser, error)
	// local is the file itself, where it is one of its own; empty for what is
	// still packed.
	local string
}

// Bounds of what an archive may hold. They are far above any data set that one
// machine evaluates, and far below what a bomb unpacks to.
const (
	maxMembers  = 1_000_000
	maxUnpacked = 64 << 30
	// maxRatio is how much larger than packed a member beyond freeUnpacked may be:
	// deflate's own limit is 1032, which only bombs come near to.
	maxRatio     = 500
	freeUnpacked = 64 << 20
)

// isArchive tells by the name's ending whether a file is opened as an archive.
func isArchive(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".zip") || strings.HasSuffix(lower, ".tar.gz") || strings.HasSuffix(lower, ".tgz")
}

// looksPacked tells by a file's first bytes whether it is a zip file, or one made by
// gzip whose name does not say what is in it: addresses need not end in a name.
func looksPacked(name, local string) bool {
	file, err := os.Open(local)
	if err != nil {
		return false
	}
	defer file.Close()
	var magic [2]byte
	if _, err := io.ReadFull(file, magic[:]); err != nil {
		return false
	}
	return string(magic[:]) == "PK" || string(magic[:]) == "\x1f\x8b" && !strings.HasSuffix(name, ".gz")
}

// archive is an opened zip or tar.gz file.
type archive struct {
	members []member // sorted by name
	close   func() error
}

// openArchive opens a zip or tar.gz file, told apart by their first bytes. Where all
// files are in one folder, names are those below it. Of a tar.gz, the members that
// take wants are unpacked below the folder scratch. At is what messages call the file.
func openArchive(ctx context.Context, at, local, scratch string, take func(name string) bool) (*archive, error) {
	file, err := os.Open(local)
	if err != nil {
		return nil, unreadable(at, err)
	}
	var magic [4]byte
	n, _ := io.ReadFull(file, magic[:]) // a shorter file is neither
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		file.Close()
		return nil, unreadable(at, err)
	}
	var a *archive
	switch {
	case n == 4 && magic[0] == 'P' && magic[1] == 'K':
		a, err = openZip(at, file)
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		a, err = openTar(ctx, at, file, scratch, take)
	default:
		err = &Error{Path: at, Problem: "is neither a zip nor a tar.gz file"}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	a.strip()
	slices.SortFunc(a.members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	if err := a.unique(at); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *archive) unique(at string) error {
	for i := 1; i < len(a.members); i++ {
		if a.members[i].name == a.members[i-1].name {
			return &Error{Path: at, Problem: fmt.Sprintf("holds two files with the name %q", a.members[i].name)}
		}
	}
	return nil
}

// strip takes off the folder that all members are in, if they are in one.
func (a *archive) strip() {
	top := ""
	for i, m := range a.members {
		dir, _, nested := strings.Cut(m.name, "/")
		if !nested || i > 0 && dir != top {
			return
		}
		top = dir
	}
	for i := range a.members {
		a.members[i].name = strings.TrimPrefix(a.members[i].name, top+"/")
	}
}

// checkName refuses what would lead out of the folder that an archive is unpacked
// into. Nothing is unpacked under such names here, but nobody honest packs them.
func checkName(at, name string) error {
	bad := name == "" || strings.ContainsAny(name, "\\\x00") || path.IsAbs(name) || filepath.VolumeName(name) != ""
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		bad = bad || part == ".." || part == ""
	}
	if bad {
		return &Error{Path: at, Problem: fmt.Sprintf("holds a file with the name %q, which leads out of its folder", name), Hint: "the archive is not used"}
	}
	return nil
}

// checkBomb refuses sizes that only archives made to do harm have.
func checkBomb(at, name string, packed, unpacked int64) error {
	if unpacked > maxUnpacked || unpacked > freeUnpacked && packed < unpacked/maxRatio {
		return &Error{Path: at, Problem: fmt.Sprintf("the file %q in it would unpack from %d to %d bytes, as only a bomb does", name, packed, unpacked)}
	}
	return nil
}

func tooMany(at string) error {
	return &Error{Path: at, Problem: fmt.Sprintf("holds more than %d files", maxMembers)}
}

// openZip lists a zip file's members. Links among them are no files.
func openZip(at string, file *os.File) (*archive, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, unreadable(at, err)
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, &Error{Path: at, Problem: "is no zip file that can be read: " + err.Error(), Err: err}
	}
	if len(z.File) > maxMembers {
		return nil, tooMany(at)
	}
	a := &archive{close: file.Close}
	total := int64(0)
	for _, f := range z.File {
		if err := checkName(at, f.Name); err != nil {
			return nil, err
		}
		if !f.Mode().IsRegular() || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		size := int64(min(f.UncompressedSize64, maxUnpacked+1))
		if err := checkBomb(at, f.Name, int64(f.CompressedSize64), size); err != nil {
			return nil, err
		}
		if total += size; total > maxUnpacked {
			return nil, &Error{Path: at, Problem: fmt.Sprintf("unpacks to more than %d bytes", int64(maxUnpacked))}
		}
		name := at + "/" + f.Name
		a.members = append(a.members, member{name: f.Name, at: name, size: size, open: func() (io.ReadCloser, error) {
			in, err := f.Open()
			if err != nil {
				return nil, unreadable(name, err)
			}
			return bounded(in, name, size), nil
		}})
	}
	return a, nil
}

// boundedReader fails when more comes than was announced.
type boundedReader struct {
	io.ReadCloser
	at   string
	left int64
}

func bounded(in io.ReadCloser, at string, size int64) io.ReadCloser {
	return &boundedReader{in, at, size}
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &Error{Path: b.at, Problem: "unpacks to more bytes than the archive says"}
	}
	return n, err
}

// openTar unpacks the members that are wanted: a tar file cannot be read at a place.
func openTar(ctx context.Context, at string, file *os.File, scratch string, take func(string) bool) (*archive, error) {
	if err := os.MkdirAll(scratch, 0o777); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "unpacked-")
	if err != nil {
		return nil, err
	}
	a := &archive{close: func() error { return errors.Join(file.Close(), os.RemoveAll(dir)) }}
	if err := a.unpackTar(ctx, at, file, dir, take); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return a, nil
}

func (a *archive) unpackTar(ctx context.Context, at string, file *os.File, dir string, take func(string) bool) error {
	z, err := gzip.NewReader(file)
	if err != nil {
		return unreadable(at, err)
	}
	r := tar.NewReader(z)
	total := int64(0)
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return unreadable(at, err)
		}
		if n >= maxMembers {
			return tooMany(at)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // codeload's comment with the commit
		}
		if err := checkName(at, h.Name); err != nil {
			return err
		}
		if total += h.Size; total > maxUnpacked || h.Size > maxUnpacked {
			return &Error{Path: at, Problem: fmt.Sprintf("unpacks to more than %d bytes", int64(maxUnpacked))}
		}
		if err := checkTarBomb(at, file, total); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		m := member{name: h.Name, at: at + "/" + h.Name, size: h.Size}
		if take(h.Name) || take(afterSlash(h.Name)) {
			m.local = filepath.Join(dir, strconv.Itoa(n))
			if err := unpackTo(m.local, r); err != nil {
				return unreadable(m.at, err)
			}
			m.open = func() (io.ReadCloser, error) { return os.Open(m.local) }
		} else {
			m.open = func() (io.ReadCloser, error) {
				return nil, &Error{Path: m.at, Problem: "was not unpacked", Err: fs.ErrNotExist}
			}
		}
		a.members = append(a.members, m)
	}
}

// checkTarBomb compares what a tar.gz has unpacked to with what of it was read. The
// whole file counts, since readers read ahead.
func checkTarBomb(at string, file *os.File, unpacked int64) error {
	info, err := file.Stat()
	if err != nil {
		return unreadable(at, err)
	}
	return checkBomb(at, "…", info.Size(), unpacked)
}

func afterSlash(name string) string {
	_, after, _ := strings.Cut(name, "/")
	return after
}

func unpackTo(path string, r io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

// fileMember is a member that is a file of its own.
func fileMember(name, at, local string, size int64) member {
	return member{name: name, at: at, size: size, local: local, open: func() (io.ReadCloser, error) {
		in, err := os.Open(local)
		if err != nil {
			return nil, unreadable(at, err)
		}
		return in, nil
	}}
}

// read opens a member, unpacks a name that ends in .gz or .zst, and hands it to use.
func (m member) read(use func(at string, r io.Reader) error) error {
	in, err := m.open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, release, err := decompress(m.name, in)
	if err != nil {
		return unreadable(m.at, err)
	}
	defer release()
	return use(m.at, r)
}
