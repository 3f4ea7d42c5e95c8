package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// Runtime is the loaded ONNX Runtime library. It stays loaded as long as the
// process lives.
type Runtime struct {
	path    string
	version string
}

// loaded is the process's only runtime: the binding keeps the library's handle in
// variables of its own, so there cannot be two.
var loaded struct {
	sync.Mutex
	runtime *Runtime
}

// minVersion is the first ONNX Runtime with the C API (24) that the binding wants.
const minVersion = "1.24"

// Load loads the library at path, or returns the runtime when the process has
// loaded it before. Another library than the loaded one is an error. It may be
// called from several goroutines.
func Load(path string) (*Runtime, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	loaded.Lock()
	defer loaded.Unlock()
	if r := loaded.runtime; r != nil {
		if r.path != path {
			return nil, fmt.Errorf("load ONNX Runtime %s: this process already uses %s", path, r.path)
		}
		return r, nil
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("load ONNX Runtime: %w", err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("load ONNX Runtime %s: this is a folder, expected the shared library in it", path)
	}
	if err := initialize(path); err != nil {
		return nil, fmt.Errorf("load ONNX Runtime %s: %w", path, err)
	}
	loaded.runtime = &Runtime{path: path, version: ort.GetVersion()}
	return loaded.runtime, nil
}

func initialize(path string) error {
	ort.SetSharedLibraryPath(path)
	err := ort.InitializeEnvironment(ort.WithLogLevelError())
	if err == nil {
		// Without this the library may send usage data where the system has a
		// channel for it (Windows).
		return ort.DisableTelemetry()
	}
	// The binding gives the library's refusal of its API version only as a number.
	if code := errors.Unwrap(err); code != nil && code.Error() == "Error setting ORT API base: 2" {
		return fmt.Errorf("the library is older than ONNX Runtime %s, or not ONNX Runtime", minVersion)
	}
	return err
}

// Version returns the library's version, such as 1.32.0.
func (r *Runtime) Version() string { return r.version }
