package tokenizer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// maxFile bounds the size of a tokenizer file, unpacked. The largest in use have
// some 40 MB. What is made of a file takes at most some ten times its size.
const maxFile = 128 << 20

// Open reads a tokenizer file, which may be packed with gzip.
func Open(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer f.Close()
	t, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse reads a tokenizer file, which may be packed with gzip. The error for a
// file that is not one, or that asks for what is not supported, names the place
// in it. Settings for truncation and padding are left to the caller, but for the
// id to pad with; so is the decoder.
func Parse(r io.Reader) (*Tokenizer, error) {
	data, err := load(r, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	return t, nil
}

// load reads all of r, unpacked. Neither the file nor what it unpacks to may be
// larger than limit bytes.
func load(r io.Reader, limit int) (string, error) {
	size := 0
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			size = int(min(info.Size(), int64(limit)))
		}
	}
	data, err := readAll(r, size, limit)
	if err != nil || !strings.HasPrefix(data, "\x1f\x8b") {
		return data, err
	}
	unpacked, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		return "", err
	}
	// The file ends with its unpacked size, which is believed as far as deflate
	// can pack at all, about 1:1032.
	tail := data[max(0, len(data)-4):]
	size = int(binary.LittleEndian.Uint32(append([]byte(tail), 0, 0, 0, 0)))
	return readAll(unpacked, min(size, limit, len(data)*1032), limit)
}

// readAll reads r to its end, making room for size bytes beforehand.
func readAll(r io.Reader, size, limit int) (string, error) {
	var b strings.Builder
	b.Grow(size)
	n, err := io.Copy(&b, io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return "", err
	}
	if n > int64(limit) {
		return "", fmt.Errorf("larger than %d bytes", limit)
	}
	return b.String(), nil
}

// file is what a tokenizer file says.
type file struct {
	added       []AddedToken
	normalizers []normalizer
	splitters   []preTokenizer
	templates   templates
	model       model
	padID       int32 // noToken when the file does not say
}

func parse(data string) (*Tokenizer, error) {
	r := &jsonReader{data: data}
	f := file{templates: bareTemplates(), padID: noToken}
	r.object(func(field string) {
		switch field {
		case "version":
			if v := r.text(); v != "1.0" {
				r.fail("version %q is not supported, 1.0 is", shorten(v))
			}
		case "added_tokens":
			f.added = readAdded(r)
		case "normalizer":
			f.normalizers = readNormalizers(r)
		case "pre_tokenizer":
			f.splitters = readPreTokenizers(r)
		case "post_processor":
			f.templates = readTemplates(r)
		case "padding":
			f.padID = readPadding(r)
		case "model":
			f.model = readModel(r)
		default:
			r.skip()
		}
	})
	r.require(f.model != nil, "model")
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	return f.tokenizer()
}

func readModel(r *jsonReader) model {
	switch kind := r.typeName(); kind {
	case "Unigram":
		return readUnigram(r)
	case "WordPiece":
		return readWordPiece(r)
	default:
		r.fail("model %q is not supported, Unigram and WordPiece are", shorten(kind))
		return nil
	}
}

func readPadding(r *jsonReader) int32 {
	id := int32(noToken)
	if r.null() {
		return id
	}
	r.object(func(field string) {
		if field == "pad_id" {
			id = r.id()
			return
		}
		r.skip()
	})
	return id
}

// tokenizer puts the parts together.
func (f *file) tokenizer() (*Tokenizer, error) {
	t := &Tokenizer{
		normalizers: f.normalizers,
		splitters:   f.splitters,
		model:       f.model,
		templates:   f.templates,
		padID:       f.padID,
		cache:       newWordCache(),
	}
	for _, s := range f.splitters {
		if m, ok := s.(*metaspace); ok && m.prepend == prependFirst {
			t.track = true
		}
	}
	t.pool = sync.Pool{New: func() any { return new(scratch) }}
	t.addTokens(f.added)
	if int64(t.model.size())+int64(len(f.added)) > 1<<31-1 {
		return nil, errors.New("the vocabulary is too large")
	}
	if t.padID == noToken {
		t.padID = t.padToken()
	}
	return t, nil
}

// padToken returns the token that by its name is there to pad, 0 without one.
func (t *Tokenizer) padToken() int32 {
	for _, name := range []string{"<pad>", "[PAD]", "<PAD>"} {
		if id, ok := t.ID(name); ok {
			return id
		}
	}
	return 0
}
