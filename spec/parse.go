package spec

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Load reads the spec at a path: a file, or a folder whose .hcl files make up
// one experiment together. All problems that can be known without the corpus
// are reported at once, sorted by file and line.
//
// The experiment is never nil, so that its Files can show snippets, but it is
// of no other use when the diagnostics have errors.
func Load(path string, opts LoadOptions) (*Experiment, hcl.Diagnostics) {
	dir, files, err := readSources(path)
	if err != nil {
		e := &Experiment{Files: map[string]*hcl.File{}}
		return e, hcl.Diagnostics{errorAt(sumNoFile, hcl.Range{}, "%s", sentence(err))}
	}
	return LoadSources(dir, files, opts)
}

// LoadSources is [Load] for text at hand, such as standard input. Paths in it
// are relative to dir.
func LoadSources(dir string, files []Source, opts LoadOptions) (*Experiment, hcl.Diagnostics) {
	l := newLoader(dir, opts)
	l.load(files)
	diags := tidy(l.diags)
	redact(diags, l.world.hidden())
	return l.e, diags
}

func readSources(path string) (dir string, files []Source, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, plainPathError(err)
	}
	if !info.IsDir() {
		b, err := readRegular(path)
		return filepath.Dir(path), []Source{{Name: path, Bytes: b}}, err
	}
	names, err := filepath.Glob(filepath.Join(globEscape(path), "*.hcl"))
	if err != nil {
		return "", nil, fmt.Errorf("list %s: %w", path, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(filepath.Base(n), ".") })
	if len(names) == 0 {
		return "", nil, fmt.Errorf("the folder %s has no .hcl file", path)
	}
	for _, name := range names {
		b, err := readRegular(name)
		if err != nil {
			return "", nil, err
		}
		files = append(files, Source{Name: name, Bytes: b})
	}
	return path, files, nil
}

// globEscape keeps a folder's own name from being read as a pattern.
func globEscape(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// parse reads the files' blocks; blocks of a type keep their order.
func (l *loader) parse(files []Source) {
	for _, src := range files {
		body := l.parseFile(src)
		if body == nil {
			continue
		}
		for _, attr := range body.Attributes {
			l.report(errorAt(sumUnknownAttribute, attr.NameRange,
				"An attribute must be inside a block; %q is outside of any.", attr.Name))
		}
		l.topLevel(body.Blocks)
	}
}

// parseFile returns nil when there is nothing to go on with.
func (l *loader) parseFile(src Source) *hclsyntax.Body {
	l.e.Files[src.Name] = &hcl.File{Bytes: src.Bytes}
	if d := checkText(src); d != nil {
		l.report(d)
		l.broken = true
		return nil
	}
	if i := bytes.Index(src.Bytes, []byte("\r\n")); i >= 0 {
		l.report(warningAt(sumLineEndings, rangeAt(src, i, 1),
			"Lines end in CR LF. The bytes of heredocs and of the file itself are then not what they are on other systems; convert it to LF."))
	}
	file, diags := hclsyntax.ParseConfig(src.Bytes, src.Name, hcl.InitialPos)
	l.e.Files[src.Name] = file
	l.diags = append(l.diags, diags...)
	if diags.HasErrors() {
		l.broken = true
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || l.hugeNumbers(body) {
		l.broken = true
		return nil
	}
	return body
}

func checkText(src Source) *hcl.Diagnostic {
	if i := bytes.IndexByte(src.Bytes, 0); i >= 0 {
		return errorAt(sumEncoding, rangeAt(src, i, 1), "%s has a zero byte; a spec is text in UTF-8.", src.Name)
	}
	for i := 0; i < len(src.Bytes); {
		r, n := utf8.DecodeRune(src.Bytes[i:])
		if r == utf8.RuneError && n == 1 {
			return errorAt(sumEncoding, rangeAt(src, i, 1), "%s is not valid UTF-8: byte %d is 0x%02x.", src.Name, i, src.Bytes[i])
		}
		i += n
	}
	return nil
}

// rangeAt is the place of n bytes from an offset.
func rangeAt(src Source, offset, n int) hcl.Range {
	before := src.Bytes[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	start := hcl.Pos{Line: line, Column: column, Byte: offset}
	end := hcl.Pos{Line: line, Column: column + n, Byte: offset + n}
	return hcl.Range{Filename: src.Name, Start: start, End: end}
}

// maxNumberBits bounds the exponent of a number: printed in full, one with a
// billion digits would never end.
const maxNumberBits = 1100

// hugeNumbers reports numbers that no float64 can hold.
func (l *loader) hugeNumbers(body *hclsyntax.Body) bool {
	found := false
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		lit, ok := node.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.IsNull() || lit.Val.Type() != cty.Number {
			return nil
		}
		if exp := lit.Val.AsBigFloat().MantExp(nil); exp > maxNumberBits || exp < -maxNumberBits {
			l.report(errorAt(sumBadValue, lit.SrcRange, "The number is too large or too small."))
			found = true
		}
		return nil
	})
	return found
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[n:]
}
