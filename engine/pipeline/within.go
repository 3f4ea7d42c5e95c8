package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/idmap"
)

// wholes maps documents that are parts of others, such as pages, to the ids of
// these. Documents that are wholes of their own are not in it. It may be nil.
type wholes struct {
	parts *idmap.Map // to places in names
	at    map[string]uint64
	names []string
}

func newWholes() *wholes { return &wholes{parts: idmap.New(), at: map[string]uint64{}} }

// add notes of which whole a document is a part.
func (w *wholes) add(part, whole string) {
	at, ok := w.at[whole]
	if !ok {
		at = uint64(len(w.names))
		w.at[whole], w.names = at, append(w.names, whole)
	}
	w.parts.Add(part, at)
}

// of is the id of the whole that a document is a part of, or the document's own.
func (w *wholes) of(doc string) string {
	if w != nil {
		if at, ok := w.parts.Get(doc); ok {
			return w.names[at]
		}
	}
	return doc
}

// withinWork is the work of the stage that finds out which documents are parts of
// others.
type withinWork struct {
	field  string
	shards int
}

// withinKind writes down the parts and their wholes, so that judging a run does
// not read the documents again.
var withinKind = &engine.Kind{Name: "within", Version: "1", Outputs: []string{"wholes"}, Pure: true, Cheap: true, Run: runWithin}

// wholeLine is a line of its output.
type wholeLine struct {
	ID     string `json:"_id"`
	Within string `json:"within"`
}

// within adds the stage when golden names a field.
func (b *builder) within() {
	field := b.exp.Golden.Within
	if field == "" {
		return
	}
	s := &engine.Stage{
		Address: address("within", field), Kind: withinKind, Needs: engine.Resources{CPU: 1},
		Fields: []engine.Field{{Class: engine.Params, Path: "golden.within", Value: field}},
		Inputs: b.documentInputs(),
		Work:   withinWork{field, b.shards},
	}
	b.wholes = []engine.Input{{Name: "wholes", From: b.p.Graph.Add(s), Output: "wholes"}}
}

// documentInputs are the documents of the corpus, by shard.
func (b *builder) documentInputs() []engine.Input {
	in := make([]engine.Input, b.shards)
	for i := range in {
		in[i] = engine.Input{Name: shardName("documents", i), From: b.p.Fetch, Output: shardName("documents", i)}
	}
	return in
}

func runWithin(_ context.Context, t *engine.Task) error {
	w := t.Work.(withinWork)
	f := finding{wholes: newWholes(), others: map[string]bool{}}
	out, err := t.Create("wholes")
	if err != nil {
		return err
	}
	lines := bufio.NewWriterSize(out, 1<<16)
	documents := 0
	for i := range w.shards {
		in, err := t.Open(shardName("documents", i))
		if err != nil {
			return err
		}
		for doc, err := range artifact.ReadLines[axes.Document](in) {
			if err != nil {
				return fmt.Errorf("read documents: %w", err)
			}
			documents++
			whole := f.look(doc, w.field)
			if whole == "" {
				continue
			}
			if err := encodeLine(lines, wholeLine{doc.ID, whole}); err != nil {
				return fmt.Errorf("write wholes: %w", err)
			}
		}
	}
	if err := f.check(w.field); err != nil {
		return &engine.InputError{Err: err}
	}
	if alone := documents - f.parts.Len(); alone > 0 {
		t.Warn("%d of %d documents do not say in %q what they are a part of: each is a whole of its own", alone, documents, w.field)
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write wholes: %w", err)
	}
	return nil
}

// finding is what becomes known of parts and wholes.
type finding struct {
	*wholes
	// examples are parts, one of each whole; others is the metadata of documents that
	// are parts of none.
	examples []string
	others   map[string]bool
}

// look notes of what a document is a part, and returns it.
func (f *finding) look(doc axes.Document, field string) string {
	whole := doc.Meta[field]
	if whole == "" {
		for name := range doc.Meta {
			f.others[name] = true
		}
		return ""
	}
	f.add(doc.ID, whole)
	if len(f.names) > len(f.examples) {
		f.examples = append(f.examples, doc.ID)
	}
	return whole
}

// check refuses a field that nothing has, and wholes that are parts themselves:
// which of the two a judgement of such an id is about could only be guessed.
func (f *finding) check(field string) error {
	if f.parts.Len() == 0 {
		names := "there is no metadata at all"
		if len(f.others) > 0 {
			names = "there are " + strings.Join(slices.Sorted(maps.Keys(f.others)), ", ")
		}
		return fmt.Errorf("no document has the metadata %q that golden's within names; %s", field, names)
	}
	for i, whole := range f.names {
		if above := f.of(whole); above != whole {
			return fmt.Errorf("document %s is a part of %s, which is itself a part of %s: name the outermost in %q of each", f.examples[i], whole, above, field)
		}
	}
	return nil
}

// readWholes reads what the stage wrote.
func readWholes(in inputs) (*wholes, error) {
	r, err := in.Open("wholes")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read only
	parts := newWholes()
	for dec := json.NewDecoder(r); ; {
		var l wholeLine
		switch err := dec.Decode(&l); {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			return nil, fmt.Errorf("read wholes: %w", err)
		}
		parts.add(l.ID, l.Within)
	}
}
