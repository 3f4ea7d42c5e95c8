package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/artifact"
)

// wholes maps documents that are parts of others, such as pages, to the ids of
// these. Documents that are wholes of their own are not in it. It may be nil.
type wholes map[string]string

// of is the id of the whole that a document is a part of, or the document's own.
func (w wholes) of(doc string) string {
	if whole, ok := w[doc]; ok {
		return whole
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
	parts, known, others := wholes{}, map[string]bool{}, map[string]bool{}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for i := range w.shards {
		in, err := t.Open(shardName("documents", i))
		if err != nil {
			return err
		}
		for doc, err := range artifact.ReadLines[axes.Document](in) {
			if err != nil {
				return fmt.Errorf("read documents: %w", err)
			}
			known[doc.ID] = true
			whole := doc.Meta[w.field]
			if whole == "" {
				for name := range doc.Meta {
					others[name] = true
				}
				continue
			}
			parts[doc.ID] = whole
			if err := lines.Encode(wholeLine{doc.ID, whole}); err != nil {
				return fmt.Errorf("write wholes: %w", err)
			}
		}
	}
	if err := w.check(parts, others); err != nil {
		return &engine.InputError{Err: err}
	}
	if alone := len(known) - len(parts); alone > 0 {
		t.Warn("%d of %d documents do not say in %q what they are a part of: each is a whole of its own", alone, len(known), w.field)
	}
	return t.Write("wholes", out.Bytes())
}

// check refuses a field that nothing has, and wholes that are parts themselves:
// which of the two a judgement of such an id is about could only be guessed.
func (w withinWork) check(parts wholes, others map[string]bool) error {
	if len(parts) == 0 {
		names := "there is no metadata at all"
		if len(others) > 0 {
			names = "there are " + strings.Join(slices.Sorted(maps.Keys(others)), ", ")
		}
		return fmt.Errorf("no document has the metadata %q that golden's within names; %s", w.field, names)
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		whole := parts[part]
		if above, nested := parts[whole]; nested && above != whole {
			return fmt.Errorf("document %s is a part of %s, which is itself a part of %s: name the outermost in %q of each", part, whole, above, w.field)
		}
	}
	return nil
}

// readWholes reads what the stage wrote.
func readWholes(in inputs) (wholes, error) {
	raw, err := in.Bytes("wholes")
	if err != nil {
		return nil, err
	}
	parts := wholes{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var l wholeLine
		if err := dec.Decode(&l); err != nil {
			return nil, fmt.Errorf("read wholes: %w", err)
		}
		parts[l.ID] = l.Within
	}
	return parts, nil
}
