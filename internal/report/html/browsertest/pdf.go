package browsertest

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/chromedp/chromedp"
)

// Print prints the page as the browser does it on paper of a size, and returns the PDF file.
// With RAGLAB_SHOTS=FOLDER the file is left there under the name.
func (p *Page) Print(name string, paper chromedp.PaperSize) []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeoutCause(p.ctx, patience, fmt.Errorf("the browser took longer than %s", patience))
	defer cancel()
	file, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPaper(paper)))
	if err != nil {
		p.t.Fatalf("print: %v", err)
	}
	if dir := os.Getenv("RAGLAB_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".pdf"), file, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	return file
}

// PDFTexts are the texts of a PDF's pages, in the order in which they are drawn, without
// blanks between the pieces that are drawn one by one. It reads what Chromium writes: objects of
// their own, streams that are deflated or plain, fonts whose glyphs have two bytes and a table of what they stand
// for. A glyph that stands for nothing is left out; any other sort of file is an error.
func PDFTexts(file []byte) ([]string, error) {
	d := pdf{objects: map[string][]byte{}, glyphs: map[string]map[uint16]string{}}
	var pages []string
	for _, m := range pdfObject.FindAllSubmatch(file, -1) {
		d.objects[string(m[1])] = m[2]
		if pdfPage.Match(m[2]) {
			pages = append(pages, string(m[1]))
		}
	}
	if len(pages) == 0 {
		return nil, errors.New("read PDF: no pages")
	}
	texts := make([]string, len(pages))
	for i, page := range pages {
		var err error
		if texts[i], err = d.text(page); err != nil {
			return nil, fmt.Errorf("read PDF, page %d: %w", i+1, err)
		}
	}
	return texts, nil
}

// pdf is a PDF file taken apart: its objects by their numbers, and what the glyphs of
// its fonts stand for.
type pdf struct {
	objects map[string][]byte
	glyphs  map[string]map[uint16]string
}

var (
	pdfObject   = regexp.MustCompile(`(?s)\n(\d+) 0 obj\n(.*?)\nendobj`)
	pdfPage     = regexp.MustCompile(`/Type /Page\b`)
	pdfContents = regexp.MustCompile(`/Contents (\d+) 0 R`)
	pdfFonts    = regexp.MustCompile(`(?s)/Font <<(.*?)>>`)
	pdfFont     = regexp.MustCompile(`/(\S+) (\d+) 0 R`)
	pdfUnicode  = regexp.MustCompile(`/ToUnicode (\d+) 0 R`)
	// pdfShown are the choice of a font, and a string that is drawn.
	pdfShown = regexp.MustCompile(`/(\S+) \S+ Tf|<([0-9A-Fa-f]*)> Tj`)
	// pdfGlyphs are lines of the table of glyphs: one, or a range with what the first stands for.
	pdfGlyphs = regexp.MustCompile(`(?m)^<([0-9A-F]{4})> (?:<([0-9A-F]{4})> )?<([0-9A-F]*)>$`)
)

// stream is the content of an object.
func (d *pdf) stream(number string) ([]byte, error) {
	head, body, found := bytes.Cut(d.objects[number], []byte("stream\n"))
	if !found {
		return nil, fmt.Errorf("object %s has no stream", number)
	}
	body = bytes.TrimSuffix(body, []byte("\nendstream"))
	if !bytes.Contains(head, []byte("/FlateDecode")) {
		return body, nil
	}
	r, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", number, err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", number, err)
	}
	return content, nil
}

// text is what a page's content draws as text.
func (d *pdf) text(page string) (string, error) {
	object := d.objects[page]
	contents := pdfContents.FindSubmatch(object)
	if contents == nil {
		return "", nil
	}
	content, err := d.stream(string(contents[1]))
	if err != nil {
		return "", err
	}
	fonts := map[string]string{}
	if named := pdfFonts.FindSubmatch(object); named != nil {
		for _, m := range pdfFont.FindAllSubmatch(named[1], -1) {
			fonts[string(m[1])] = string(m[2])
		}
	}
	var b strings.Builder
	var glyphs map[uint16]string
	for _, m := range pdfShown.FindAllSubmatch(content, -1) {
		if len(m[1]) > 0 {
			if glyphs, err = d.font(fonts[string(m[1])]); err != nil {
				return "", err
			}
			continue
		}
		if err := spell(&b, glyphs, string(m[2])); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// spell writes what a string of glyphs stands for.
func spell(b *strings.Builder, glyphs map[uint16]string, text string) error {
	for ; len(text) >= 4; text = text[4:] {
		glyph, err := strconv.ParseUint(text[:4], 16, 16)
		if err != nil {
			return fmt.Errorf("glyph %q: %w", text[:4], err)
		}
		b.WriteString(glyphs[uint16(glyph)])
	}
	return nil
}

// font is the table of a font's glyphs.
func (d *pdf) font(number string) (map[uint16]string, error) {
	if glyphs, known := d.glyphs[number]; known {
		return glyphs, nil
	}
	table := pdfUnicode.FindSubmatch(d.objects[number])
	if table == nil {
		return nil, fmt.Errorf("font %q does not say what its glyphs stand for", number)
	}
	content, err := d.stream(string(table[1]))
	if err != nil {
		return nil, err
	}
	glyphs := map[uint16]string{}
	for _, m := range pdfGlyphs.FindAllStringSubmatch(string(content), -1) {
		if err := stand(glyphs, m[1], m[2], m[3]); err != nil {
			return nil, fmt.Errorf("font %s: %w", number, err)
		}
	}
	d.glyphs[number] = glyphs
	return glyphs, nil
}

// stand notes what the glyphs from one to another stand for: the first for the text, and
// each other one for what comes after the one before it.
func stand(glyphs map[uint16]string, from, to, text string) error {
	if to == "" {
		to = from
	}
	first, err := strconv.ParseUint(from, 16, 16)
	if err != nil {
		return fmt.Errorf("glyph %q: %w", from, err)
	}
	last, err := strconv.ParseUint(to, 16, 16)
	if err != nil {
		return fmt.Errorf("glyph %q: %w", to, err)
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) < 2 || len(raw)%2 != 0 {
		return fmt.Errorf("glyph %s stands for %q, which is no UTF-16", from, text)
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	for glyph := first; glyph <= last; glyph++ {
		glyphs[uint16(glyph)] = string(utf16.Decode(units))
		units[len(units)-1]++
	}
	return nil
}
