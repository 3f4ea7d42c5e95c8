package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"raglab/internal/assets"
)

// LoadFrom loads the library that the folder of the asset onnxruntime holds, as
// [Load] does.
func LoadFrom(dir string) (*Runtime, error) {
	m, err := assets.ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("load ONNX Runtime: %w", err)
	}
	if len(m.Files) != 1 {
		return nil, fmt.Errorf("load ONNX Runtime: the folder %s holds %d files, expected the library alone", dir, len(m.Files))
	}
	return Load(assets.Paths{Dir: dir}.File(m.Files[0].Name))
}

// Positions returns how many tokens the model in a folder takes at most, by its
// config.json as the transformers library writes it; 0 when that is not there or
// does not say.
func Positions(dir string) (int, error) {
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var config struct {
		Positions int    `json:"max_position_embeddings"`
		Type      string `json:"model_type"`
		PadID     int    `json:"pad_token_id"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	switch config.Type {
	case "roberta", "xlm-roberta", "camembert": // these count positions from the padding id on
		return max(0, config.Positions-config.PadID-1), nil
	}
	return config.Positions, nil
}
