package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPositions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config string
		want   int
		fails  bool
	}{
		{"", 0, false},
		{`{"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}`, 512, false},
		{`{"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}`, 512, false},
		{`{"model_type": "roberta"}`, 0, false},
		{`{`, 0, true},
	} {
		dir := t.TempDir()
		if tt.config != "" {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(tt.config), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Positions(dir); got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %d, %v; want %d", tt.config, got, err, tt.want)
		}
	}
}

func TestLoadFrom_noRuntime(t *testing.T) {
	t.Parallel()
	if _, err := LoadFrom(t.TempDir()); err == nil || !strings.Contains(err.Error(), "load ONNX Runtime") {
		t.Errorf("error %v", err)
	}
}
