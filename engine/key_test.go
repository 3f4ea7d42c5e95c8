package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"raglab/cache"
)

// define is a stage as the key tests vary it, with the blobs of its inputs.
type define struct {
	Stage
	in []cache.Blob
}

func base() *define {
	in := []Input{
		{Name: "documents", From: &Stage{Address: "fetch[a]"}, Output: "out"},
		{Name: "order", From: &Stage{Address: "fetch[a]"}, Output: "order"},
	}
	return &define{
		Stage: Stage{
			Address: "chunk[fixed]", Kind: &Kind{Name: "chunk", Version: "1", Outputs: []string{"chunks"}},
			Fields: []Field{
				{Params, "chunker.tokens", int64(256)},
				{Params, "chunker.overlap", 0.5},
				{Params, "chunker.separators", []Value{"\n\n", "\n"}},
				{Code, "chunker fixed", "3"},
				{Model, "tokenizer", "sha256:00"},
				{Env, "LANG", "uk"},
				{Source, "docs/a.md", "sha256:11"},
			},
			Inputs: in,
		},
		in: []cache.Blob{{Name: "out", Digest: cache.DigestOf([]byte("1")), Size: 1}, {Name: "order", Digest: cache.DigestOf([]byte("2")), Size: 1}},
	}
}

func (d *define) key() cache.Key {
	sortFields(d.Fields)
	k, _ := contentKey(nil, &d.Stage, d.Fields, d.in)
	return k
}

func (d *define) planned() cache.Key {
	sortFields(d.Fields)
	k, _ := planKey(nil, &d.Stage)
	return k
}

// What a key covers.
var keyChanges = []struct {
	name   string
	change func(*define)
}{
	{"kind", func(d *define) { d.Kind = &Kind{Name: "cut", Version: "1"} }},
	{"version", func(d *define) { d.Kind = &Kind{Name: "chunk", Version: "2"} }},
	{"parameter", func(d *define) { d.Fields[0].Value = int64(257) }},
	{"parameter type", func(d *define) { d.Fields[0].Value = 256.0 }},
	{"parameter unset", func(d *define) { d.Fields[0].Value = nil }},
	{"float", func(d *define) { d.Fields[1].Value = math.Nextafter(0.5, 1) }},
	{"list order", func(d *define) { d.Fields[2].Value = []Value{"\n", "\n\n"} }},
	{"list joined", func(d *define) { d.Fields[2].Value = []Value{"\n\n\n"} }},
	{"code", func(d *define) { d.Fields[3].Value = "4" }},
	{"model", func(d *define) { d.Fields[4].Value = "sha256:01" }},
	{"env", func(d *define) { d.Fields[5].Value = "tr" }},
	{"source", func(d *define) { d.Fields[6].Value = "sha256:12" }},
	{"class", func(d *define) { d.Fields[5].Class = Params }},
	{"path", func(d *define) { d.Fields[0].Path = "chunker.words" }},
	{"source renamed", func(d *define) { d.Fields[6].Path = "docs/b.md" }},
	{"field added", func(d *define) { d.Fields = append(d.Fields, Field{Params, "x", nil}) }},
	{"field removed", func(d *define) { d.Fields = d.Fields[1:] }},
	{"files swapped", func(d *define) {
		d.Fields[6].Value = "sha256:22"
		d.Fields = append(d.Fields, Field{Source, "docs/b/a.md", "sha256:11"})
	}},
	{"input content", func(d *define) { d.in[0].Digest[0]++ }},
	{"input name", func(d *define) { d.Inputs[0].Name = "texts" }},
	{"inputs swapped", func(d *define) { d.in[0], d.in[1] = d.in[1], d.in[0] }},
	{"input removed", func(d *define) { d.Inputs, d.in = d.Inputs[:1], d.in[:1] }},
}

func TestContentKey_covers(t *testing.T) {
	t.Parallel()
	seen := map[cache.Key]string{base().key(): "unchanged"}
	for _, tt := range keyChanges {
		d := base()
		tt.change(d)
		k := d.key()
		if other, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", tt.name, other)
		}
		seen[k] = tt.name
	}
}

// What a key does not cover.
func TestContentKey_cosmetics(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*define){
		"address":             func(d *define) { d.Address = "chunk[renamed]" },
		"address of an input": func(d *define) { d.Inputs[0].From = &Stage{Address: "fetch[b]"} },
		"plan key of inputs":  func(d *define) { d.Inputs[0].From = &Stage{planKey: cache.Key{1}} },
		"name of its output":  func(d *define) { d.Inputs[0].Output, d.in[0].Name = "texts", "texts" },
		"needs":               func(d *define) { d.Needs = Resources{CPU: 16, Memory: 1 << 40} },
		"work":                func(d *define) { d.Work = "else" },
		"blocked":             func(d *define) { d.Blocked = "no model" },
		"outside":             func(d *define) { d.Outside = 99 },
		"limits":              func(d *define) { d.Limits = []string{"api"} },
		"purity":              func(d *define) { k := *d.Kind; k.Pure, k.Cheap = true, true; d.Kind = &k },
		"order of fields":     func(d *define) { slices.Reverse(d.Fields) },
		"size":                func(d *define) { d.in[0].Size = 77 },
	} {
		d := base()
		change(d)
		if d.key() != base().key() {
			t.Errorf("%s changes the key", name)
		}
	}
}

func TestContentKey_fieldOrder(t *testing.T) {
	t.Parallel()
	want, planned := base().key(), base().planned()
	rapid.Check(t, func(t *rapid.T) {
		d := base()
		d.Fields = rapid.Permutation(d.Fields).Draw(t, "fields")
		if d.key() != want || d.planned() != planned {
			t.Fatalf("the order %v gives another key", d.Fields)
		}
	})
}

// Two fields of one name are hashed in an order of their own as well.
func TestContentKey_fieldTwice(t *testing.T) {
	t.Parallel()
	a, b := base(), base()
	a.Fields = append(a.Fields, Field{Params, "x", int64(1)}, Field{Params, "x", "2"})
	b.Fields = append(b.Fields, Field{Params, "x", "2"}, Field{Params, "x", int64(1)})
	if a.key() != b.key() {
		t.Error("the order of two fields of one name changes the key")
	}
}

// A late input is no part of the content key, and is one of the plan key.
func TestContentKey_lateInput(t *testing.T) {
	t.Parallel()
	late, without := base(), base()
	late.Inputs[1].Late = true
	without.Inputs, without.in = without.Inputs[:1], without.in[:1]
	if late.key() != without.key() {
		t.Error("a late input changes the content key")
	}
	if late.planned() == without.planned() || late.planned() == base().planned() {
		t.Error("a late input does not change the plan key")
	}
}

// The keys of the golden file hold on every system.
func TestKeys_golden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	line := func(name string, d *define) { fmt.Fprintf(&b, "%s %s %s\n", d.key(), d.planned(), name) }
	line("unchanged", base())
	for _, tt := range keyChanges {
		d := base()
		tt.change(d)
		line(tt.name, d)
	}
	for name, v := range map[string]Value{
		"map":    map[string]Value{"b": int64(1), "a": map[string]Value{"ї": "ґ", "é": nil}},
		"floats": []Value{0.0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 1e-320, math.MaxFloat64},
		"ints":   []Value{int64(math.MinInt64), int64(-1), int64(math.MaxInt64)},
		"text":   "Їжак\r\n\x00\xff",
		"bools":  []Value{true, false, nil},
		"empty":  []Value{"", []Value{}, map[string]Value{}},
	} {
		d := base()
		d.Fields[0].Value = v
		fmt.Fprintf(&b, "%s %s value: %s\n", d.key(), d.planned(), name)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[min(len(a), 130):], b[min(len(b), 130):]) })
	golden(t, "keys.golden", strings.Join(lines, ""))
}

// A value that was tuned names the same result as one that was written.
func TestContentKey_tunedIsWritten(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	source := l.add(pureKind, "make[source]", "s")
	tune := l.addStep(pureKind, "make[tune]", "t", func(_ context.Context, t *Task) error { return t.Write("out", []byte("60")) }, source)
	written := newStage(pureKind, "make[written]", "60", join("60"), source)
	tuned := newStage(pureKind, "make[tuned]", "", nil, source)
	tuned.Fields[0].Value = map[string]Value{LateMark: "k"}
	tuned.Inputs = append(tuned.Inputs, Input{Name: "chosen", From: tune, Output: "out", Late: true})
	tuned.Late = func(read func(string) ([]byte, error)) ([]Field, any, error) {
		raw, err := read("chosen")
		return []Field{{Params, "text", string(raw)}}, &step{do: join(string(raw))}, err
	}
	written, tuned = l.graph.Add(written), l.graph.Add(tuned)
	out := l.done()
	if out.Keys[written.Index()] != out.Keys[tuned.Index()] {
		t.Errorf("written %s, tuned %s", out.Keys[written.Index()], out.Keys[tuned.Index()])
	}
	if got := l.read(out, tuned); got != "60(s)" {
		t.Errorf("the tuned stage gave %q", got)
	}
	if out.Executed != 3 || out.Hits+out.Shared != 1 {
		t.Errorf("executed %d, found or shared %d; want 3 and 1: the two are one piece of work", out.Executed, out.Hits+out.Shared)
	}
}

func TestManifest_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := base()
		d.Fields[0].Value = values().Draw(t, "value")
		m := manifestOf(&d.Stage, d.Fields, d.in)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseManifest(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8Value(d.Fields[0].Value) {
			return // JSON replaces what is no UTF-8
		}
		if found := Differences(got, m); len(found) > 0 {
			t.Fatalf("a manifest differs from itself, stored and read: %+v", found)
		}
	})
}

func TestMergeFields(t *testing.T) {
	t.Parallel()
	old := []Field{{Code, "k", "1"}, {Params, "a", int64(1)}, {Params, "k", map[string]Value{LateMark: "k"}}}
	got := mergeFields(old, []Field{{Params, "k", int64(60)}, {Params, "b", int64(2)}})
	want := "[{code k 1} {params a 1} {params b 2} {params k 60}]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, late := old[2].Value.(map[string]Value); !late {
		t.Error("mergeFields changed its argument")
	}
}

// utf8Value reports whether all text in a value is UTF-8.
func utf8Value(v Value) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []Value:
		return !slices.ContainsFunc(v, func(e Value) bool { return !utf8Value(e) })
	case map[string]Value:
		for k, e := range v {
			if !utf8.ValidString(k) || !utf8Value(e) {
				return false
			}
		}
	}
	return true
}
