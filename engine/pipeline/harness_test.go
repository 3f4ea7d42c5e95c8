package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
)

// lab runs single stages on a cache of its own.
type lab struct {
	store    *cache.Local
	measured map[string]json.RawMessage
	warnings []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	store, err := cache.OpenLocal(t.TempDir(), cache.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{store: store}
}

// constant is a stage with one output of given bytes.
func constant(g *engine.Graph, name string, b []byte) *engine.Stage {
	kind := &engine.Kind{Name: "constant", Version: "1", Outputs: []string{"out"}, Pure: true, Run: func(_ context.Context, t *engine.Task) error {
		return t.Write("out", b)
	}}
	return g.Add(&engine.Stage{
		Address: "constant[" + name + "]", Kind: kind,
		Fields: []engine.Field{{Class: engine.Source, Path: name, Value: cache.DigestOf(b).String()}},
	})
}

// run runs one stage of a kind over inputs, and returns its outputs.
func (l *lab) run(t *testing.T, kind *engine.Kind, work any, inputs map[string][]byte) (map[string][]byte, error) {
	t.Helper()
	g := engine.NewGraph()
	s := &engine.Stage{Address: kind.Name + "[test]", Kind: kind, Work: work, Needs: engine.Resources{CPU: 1}}
	for name, b := range inputs {
		s.Inputs = append(s.Inputs, engine.Input{Name: name, From: constant(g, name, b), Output: "out"})
	}
	// No two runs share a result: what is tested is the work.
	s.Fields = []engine.Field{{Class: engine.Params, Path: "nonce", Value: fmt.Sprint(time.Now().UnixNano())}}
	s = g.Add(s)
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.executor().Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Err(); err != nil {
		return nil, err
	}
	record, err := l.store.Get(t.Context(), out.Keys[s.Index()])
	if err != nil {
		t.Fatal(err)
	}
	l.measured = nil
	if err := json.Unmarshal(record.Measurements, &l.measured); err != nil {
		t.Fatal(err)
	}
	made := map[string][]byte{}
	for _, b := range record.Outputs {
		if made[b.Name], err = l.store.ReadAll(t.Context(), b.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return made, nil
}

func (l *lab) executor() *engine.Local {
	return &engine.Local{
		Store: l.store, Capacity: engine.Resources{CPU: 2, Memory: 1 << 40, Network: 1}, Now: time.Now, Log: hclog.NewNullLogger(),
		Events: func(e engine.Event) {
			if e.Type == engine.EventWarning {
				l.warnings = append(l.warnings, e.Message)
			}
		},
	}
}

// number is a measured number of the last run.
func (l *lab) number(t *testing.T, name string) float64 {
	t.Helper()
	v, ok := (&measurement{values: l.measured}).number(name)
	if !ok {
		t.Fatalf("%s was not measured", name)
	}
	return v
}

// lines packs values as an artifact of lines.
func lines[T any](t *testing.T, values ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := artifact.NewLines(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if err := w.Write(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// plainLines are JSON lines that are not packed.
func plainLines[T any](t *testing.T, values ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
