package embedder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"raglab/internal/assets"
	"raglab/internal/onnx"
)

// The ways of pooling.
const (
	poolMean = "mean"
	poolCLS  = "cls"
)

// modelFiles is a model's folder and what is known of the model.
type modelFiles struct {
	dir            string
	query, passage string // prefixes
	pooling        string
	// positions is the most tokens that the model takes, 0 when not known.
	positions int
	// packed is, per session, the precision of the graph to make of the 4-bit file,
	// empty when the folder holds a graph.
	packed [2]onnx.Precision
}

// with returns the files with the parameters that are not auto.
func (m *modelFiles) with(p ONNXParams) *modelFiles {
	out := *m
	for _, o := range []struct{ value, to *string }{
		{&p.QueryPrefix, &out.query},
		{&p.PassagePrefix, &out.passage},
		{&p.Pooling, &out.pooling},
	} {
		if *o.value != auto {
			*o.to = *o.value
		}
	}
	return &out
}

// graph returns the path of a session's graph, and makes it if need be.
func (m *modelFiles) graph(ctx context.Context, which int) (string, error) {
	precision := m.packed[which]
	if precision == "" {
		return filepath.Join(m.dir, "model.onnx"), nil
	}
	name := fmt.Sprintf("model-%s-v%s.onnx", precision, graphVersion)
	return assets.Derive(ctx, m.dir, name, func(w io.Writer) error {
		f, err := os.Open(filepath.Join(m.dir, assets.E5SmallQ4File))
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		q, err := onnx.OpenQ4(f, info.Size())
		if err != nil {
			return err
		}
		graph, err := q.Graph(precision)
		if err != nil {
			return err
		}
		_, err = graph.WriteTo(w)
		return err
	})
}

// customFiles reads what a user's folder says about its model. The files are
// those of the transformers and sentence-transformers libraries; all but the
// graph and the tokenizer may be missing.
func customFiles(dir string) (*modelFiles, error) {
	for _, name := range []string{"model.onnx", "tokenizer.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("open model: the folder %s must hold model.onnx and tokenizer.json: %w", dir, err)
		}
	}
	m := &modelFiles{dir: dir, pooling: poolMean}
	var config struct {
		Positions int    `json:"max_position_embeddings"`
		Type      string `json:"model_type"`
		PadID     int    `json:"pad_token_id"`
	}
	var prompts struct {
		Prompts map[string]string `json:"prompts"`
	}
	var pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
	}
	err := errors.Join(
		readJSON(filepath.Join(dir, "config.json"), &config),
		readJSON(filepath.Join(dir, "config_sentence_transformers.json"), &prompts),
		readJSON(filepath.Join(dir, "1_Pooling", "config.json"), &pooling),
	)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	m.positions = config.Positions
	if config.Type == "roberta" || config.Type == "xlm-roberta" || config.Type == "camembert" {
		m.positions -= config.PadID + 1 // these count positions from the padding id on
	}
	m.query, m.passage = prompts.Prompts["query"], prompts.Prompts["passage"]
	if document, ok := prompts.Prompts["document"]; ok {
		m.passage = document
	}
	if pooling.CLS && !pooling.Mean {
		m.pooling = poolCLS
	}
	return m, nil
}

// readJSON reads a file, if it is there, into out.
func readJSON(path string, out any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
