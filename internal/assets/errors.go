package assets

import (
	"fmt"
	"path/filepath"
	"strings"

	"raglab/internal/web"
)

// UnavailableError says that a file of an asset could not be had: each place
// tried, why it did not work, and what the user can do by hand.
type UnavailableError struct {
	Asset    Asset
	File     File
	Platform string
	// Path is where the file belongs.
	Path  string
	Tried []Attempt
	// Note is what the platform's users must know, or empty.
	Note string
}

// UnpinnedError says that nobody has said yet which commit of its repository an
// asset is.
type UnpinnedError struct{ Asset Asset }

// Error says how to pin it.
func (e *UnpinnedError) Error() string {
	return fmt.Sprintf("asset %s is not pinned to a commit of %s: run raglab lock", e.Asset.Title(), e.Asset.Repository)
}

// Attempt is one place that was tried and why it did not work.
type Attempt struct {
	Place string
	Err   error
}

// Error names the places one a line and ends with what to put where.
func (e *UnavailableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "get %s of asset %s %s (%s): no place has it\n", e.File.Name, e.Asset.Title(), e.Asset.Version, e.Platform)
	for _, a := range e.Tried {
		reason := strings.ReplaceAll(a.Err.Error(), "\n", "\n      ")
		fmt.Fprintf(&b, "  %s: %s\n", a.Place, reason)
	}
	b.WriteString("to put it there by hand, either\n")
	fmt.Fprintf(&b, "  save it as %s\n", e.Path)
	fmt.Fprintf(&b, "  or set %s to the file, or to a folder that holds %s\n", e.Asset.Env(), e.File.Name)
	if e.File.SHA256 != "" {
		fmt.Fprintf(&b, "it has %d bytes and SHA-256 %s\n", e.File.Size, e.File.SHA256)
	}
	for _, p := range e.File.Places {
		fmt.Fprintf(&b, "it comes from %s\n", p.byHand())
	}
	if e.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", e.Note)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Unwrap returns the reasons, so that callers can look for one of them.
func (e *UnavailableError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// verify checks a complete file at path against what is known of f, and returns
// what it is.
func (f File) verify(path string) (Held, error) {
	size, sum, err := hashFile(path)
	if err != nil {
		return Held{}, err
	}
	if f.Size > 0 && size != f.Size {
		return Held{}, &web.MismatchError{What: "size", Got: fmt.Sprintf("%d bytes", size), Want: fmt.Sprintf("%d bytes", f.Size)}
	}
	if f.SHA256 != "" && sum != f.SHA256 {
		return Held{}, &web.MismatchError{What: "SHA-256", Got: sum, Want: f.SHA256}
	}
	return Held{Name: filepath.Base(f.Name), Size: size, SHA256: sum}, nil
}
