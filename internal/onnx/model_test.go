package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/internal/assets/assetstest"
)

// writeModel writes a model to a file of the test.
func writeModel(t *testing.T, m *Model) string {
	t.Helper()
	var b bytes.Buffer
	n, err := m.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v, wrote %d", n, err, b.Len())
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// testRuntime loads the runtime, or skips the test.
func testRuntime(t testing.TB) *Runtime {
	t.Helper()
	r, err := Load(libraryPath(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func libraryPath(t testing.TB) string {
	t.Helper()
	dir := assetstest.Dir(t, "onnxruntime")
	found, err := filepath.Glob(filepath.Join(dir, "*onnxruntime*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("libraries in %s: %v, %v", dir, found, err)
	}
	return found[0]
}

// sumModel adds a table's rows to the ids as floats: out[b, s, j] = ids[b, s] + table[j].
func sumModel(table ...float32) *Model {
	m := NewModel("sum")
	ids := m.Input(InputIDs, Int64, "batch", "sequence")
	x := m.Node("Cast", "", []string{ids}, Attr{"to", int(Float32)})
	x = m.Node("Unsqueeze", "", []string{x, m.Ints("axes", 2)})
	m.Output(LastHiddenState, m.Node("Add", "", []string{x, m.Floats("table", table, len(table))}), Float32, "batch", "sequence", len(table))
	m.Metadata("made_by", "test")
	return m
}

func TestModel_runs(t *testing.T) {
	t.Parallel()
	r := testRuntime(t)
	s, err := r.Open(writeModel(t, sumModel(0.5, -2)), Options{
		Inputs: []string{InputIDs}, Required: []string{InputIDs}, Outputs: [][]string{{"other", LastHiddenState}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(t.Context(), 2, 3, []int64{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	want := []Matrix{{Dims: []int64{2, 3, 2}, Data: []float32{1.5, -1, 2.5, 0, 3.5, 1, 4.5, 2, 5.5, 3, 6.5, 4}}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestModel_writesTheSameTwice(t *testing.T) {
	t.Parallel()
	m := sumModel(1, 2, 3)
	var a, b bytes.Buffer
	if _, err := m.WriteTo(&a); err != nil {
		t.Fatal(err)
	}
	if _, err := m.WriteTo(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("the second write differs, %v", err)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	// A table larger than the reader's buffer, so that it is skipped by seeking.
	inputs, outputs, err := Inspect(writeModel(t, sumModel(make([]float32, 5000)...)))
	if err != nil {
		t.Fatal(err)
	}
	got := list(inputs) + " " + list(outputs)
	want := "(input_ids: int64[batch, sequence]) (last_hidden_state: float32[batch, sequence, 5000])"
	if got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}

func TestOpen_modelWithOtherInputsAndOutputs(t *testing.T) {
	t.Parallel()
	r := testRuntime(t)
	path := writeModel(t, sumModel(1))
	has := "; its inputs are (input_ids: int64[batch, sequence]), its outputs (last_hidden_state: float32[batch, sequence, 1])"
	tests := map[string]struct {
		options Options
		problem string
	}{
		"unknown input":  {Options{Inputs: []string{"tokens"}}, "it wants the input input_ids, expected only tokens" + has},
		"missing input":  {Options{Inputs: []string{InputIDs}, Required: []string{AttentionMask}}, "it has no input attention_mask" + has},
		"missing output": {Options{Inputs: []string{InputIDs}, Outputs: [][]string{{"logits", "scores"}}}, "it has no output logits or scores" + has},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.Open(path, test.options)
			if err == nil || !strings.HasSuffix(err.Error(), test.problem) {
				t.Errorf("error %v, expected %q", err, test.problem)
			}
		})
	}
}

func TestOpen_fileThatIsNoModel(t *testing.T) {
	t.Parallel()
	r := testRuntime(t)
	path := filepath.Join(t.TempDir(), "model.onnx")
	for name, data := range map[string]string{"empty": "", "text": "version https://git-lfs.github.com/spec/v1", "zeros": strings.Repeat("\x00", 100)} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "not an ONNX model") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func FuzzInspect(f *testing.F) {
	var b bytes.Buffer
	if _, err := sumModel(1, 2).WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		inputs, outputs, err := inspect(bytes.NewReader(data), int64(len(data)))
		if err == nil && len(outputs) == 0 {
			t.Errorf("no error and no outputs, inputs %v", inputs)
		}
	})
}

func TestLoad_problems(t *testing.T) {
	t.Parallel()
	testRuntime(t)
	path := libraryPath(t)
	if r, err := Load(path); err != nil || r.Version() != "1.32.0" {
		t.Errorf("a second Load = %v, %v", r, err)
	}
	if _, err := Load(path + ".other"); err == nil || !strings.Contains(err.Error(), "this process already uses "+path) {
		t.Errorf("error %v", err)
	}
}
