package embedder

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"raglab/internal/assets"
	"raglab/internal/assets/assetstest"
	"raglab/internal/onnx"
)

// The graphs made of the 4-bit file, by graphVersion and precision. Whoever
// changes a graph raises graphVersion and the kind's version: files of old graphs
// lie in users' assets folders, and vectors of old graphs in their caches.
var graphDigests = map[string]string{
	"1 f32": "da3c30683c46622d",
	"1 q4":  "f50e2084166bb505",
}

func TestGraphVersion(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join(assetstest.Dir(t, "multilingual-e5-small-q4"), assets.E5SmallQ4File))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	q, err := onnx.OpenQ4(f, assets.E5SmallQ4().Size("linux/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	for _, precision := range []onnx.Precision{onnx.Float32Weights, onnx.FourBitWeights} {
		m, err := q.Graph(precision)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		if _, err := m.WriteTo(h); err != nil {
			t.Fatal(err)
		}
		name := graphVersion + " " + string(precision)
		got := hex.EncodeToString(h.Sum(nil)[:8])
		if want := graphDigests[name]; got != want {
			t.Errorf("graph %s has digest %s, on record is %q: raise graphVersion and the kind's version", name, got, want)
		}
	}
}
