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
	"strings"

	"raglab/internal/assets"
	"raglab/internal/onnx"
)

// The ways of pooling.
const (
	poolMean = "mean"
	poolCLS  = "cls"
	poolLast = "last"
	poolMax  = "max"
)

// Files of a model, as libraries name them but for pooling.json, which a folder
// holds that is filled from a repository; there it is 1_Pooling/config.json.
const (
	graphFile     = "model.onnx"
	tokenizerFile = "tokenizer.json"
	promptsFile   = "config_sentence_transformers.json"
	lengthFile    = "sentence_bert_config.json"
	modulesFile   = "modules.json"
	poolingFile   = "pooling.json"
)

// modelFiles is a model's folder and what is known of the model.
type modelFiles struct {
	dir            string
	query, passage string // prefixes
	pooling        string
	// positions is the most tokens that the model takes, 0 when not known.
	positions int
	// maxTokens is where texts are cut.
	maxTokens int
	// dense names a module that the vector passes through after the pooling, which
	// only a graph that pools by itself has; empty when there is none.
	dense string
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
	if p.MaxTokens > 0 {
		out.maxTokens = p.MaxTokens
	}
	return &out
}

// graph returns the path of a session's graph, and makes it if need be.
func (m *modelFiles) graph(ctx context.Context, which int) (string, error) {
	precision := m.packed[which]
	if precision == "" {
		return filepath.Join(m.dir, graphFile), nil
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

// customFiles reads what a folder says about its model, which has that name unless it
// is empty: then the folder may say it. The files are those of the transformers and
// sentence-transformers libraries; all but the graph and the tokenizer may be missing.
func customFiles(dir, name string) (*modelFiles, error) {
	for _, name := range []string{graphFile, tokenizerFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("open model: the folder %s must hold model.onnx and tokenizer.json: %w", dir, err)
		}
	}
	m := &modelFiles{dir: dir}
	var err error
	if m.positions, err = onnx.Positions(dir); err == nil {
		err = errors.Join(m.readPrompts(name), m.readPooling(), m.readLength(), m.readModules())
	}
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	return m, nil
}

// readPrompts finds the prefixes: those of the file, where it has some, else those
// that a model of that name is known for.
func (m *modelFiles) readPrompts(name string) error {
	var file struct {
		Prompts map[string]string `json:"prompts"`
	}
	if err := readJSON(filepath.Join(m.dir, promptsFile), &file); err != nil {
		return err
	}
	if name == "" {
		var config struct {
			Name string `json:"_name_or_path"`
		}
		if err := readJSON(filepath.Join(m.dir, "config.json"), &config); err != nil {
			return err
		}
		name = config.Name
	}
	query, asks := file.Prompts["query"]
	passage, tells := file.Prompts["document"]
	if !tells {
		passage, tells = file.Prompts["passage"]
	}
	if m.query, m.passage = query, passage; !asks && !tells || query == "" && passage == "" {
		known := prefixesOf(name)
		m.query, m.passage = known.query, known.passage
	}
	return nil
}

// readPooling finds how token vectors are pooled.
func (m *modelFiles) readPooling() error {
	var file struct {
		CLS      bool   `json:"pooling_mode_cls_token"`
		Mean     bool   `json:"pooling_mode_mean_tokens"`
		Max      bool   `json:"pooling_mode_max_tokens"`
		Last     bool   `json:"pooling_mode_lasttoken"`
		Root     bool   `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted bool   `json:"pooling_mode_weightedmean_tokens"`
		Mode     string `json:"pooling_mode"` // of newer versions
	}
	path := filepath.Join(m.dir, "1_Pooling", "config.json")
	err := readJSON(path, &file)
	if _, statErr := os.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
		path = filepath.Join(m.dir, poolingFile)
		err = readJSON(path, &file)
	}
	if err != nil {
		return err
	}
	ways := []string{}
	for _, way := range []struct {
		set  bool
		name string
	}{
		{file.CLS || file.Mode == "cls", poolCLS},
		{file.Mean || file.Mode == "mean", poolMean},
		{file.Max || file.Mode == "max", poolMax},
		{file.Last || file.Mode == "lasttoken", poolLast},
		{file.Root || file.Mode == "mean_sqrt_len_tokens", "mean by the root of the length"},
		{file.Weighted || file.Mode == "weightedmean", "weighted mean"},
	} {
		if way.set {
			ways = append(ways, way.name)
		}
	}
	switch {
	case len(ways) == 0:
		m.pooling = poolMean
	case len(ways) > 1 || strings.Contains(ways[0], " "):
		m.pooling = unknownPooling + strings.Join(ways, " and ")
	default:
		m.pooling = ways[0]
	}
	return nil
}

// unknownPooling begins the pooling of a model that pools in a way that is not
// known here.
const unknownPooling = "?"

// readLength finds where texts are cut.
func (m *modelFiles) readLength() error {
	var file struct {
		Most *int `json:"max_seq_length"`
	}
	if err := readJSON(filepath.Join(m.dir, lengthFile), &file); err != nil {
		return err
	}
	m.maxTokens = usualTokens
	if file.Most != nil && *file.Most >= leastTokens {
		m.maxTokens = *file.Most
	}
	if m.positions > 0 {
		m.maxTokens = min(m.maxTokens, m.positions)
	}
	return nil
}

// readModules looks for what a vector passes through after the pooling. A vector is
// brought to unit length as the parameters say.
func (m *modelFiles) readModules() error {
	var modules []struct {
		Type string `json:"type"`
	}
	if err := readJSON(filepath.Join(m.dir, modulesFile), &modules); err != nil {
		return err
	}
	for _, module := range modules {
		switch name := module.Type[strings.LastIndexByte(module.Type, '.')+1:]; name {
		case "Transformer", "Pooling", "Normalize", "Dropout":
		default:
			m.dense = name
		}
	}
	return nil
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
