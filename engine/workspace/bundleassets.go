package workspace

import (
	"context"
	"fmt"
	"sync"

	"raglab/engine"
	"raglab/engine/pipeline"
)

// settle finds out what the assets are that only a look at them tells, and builds the
// pipeline anew when there were some: all machines of a fleet are to have the same.
// Those whose digests are known are got where stages need them.
func (s *Session) settle(ctx context.Context) error {
	found := false
	for _, name := range s.Pipeline.Assets {
		digest, err := s.assets.Digest(name)
		if err != nil {
			return err
		}
		if digest != notHere {
			continue
		}
		if _, err := s.Asset(ctx, name); err != nil {
			return fmt.Errorf("find out what all machines are to use: %w", err)
		}
		found = true
	}
	if !found {
		return nil
	}
	return s.build(ctx)
}

// assetsAsTold are the digests of the pipeline's assets as they stand in keys, and the
// pins of those that a lock fixes, or what was seen first.
func (s *Session) assetsAsTold() (digests map[string]string, pins map[string]lockedModel, err error) {
	digests, pins = map[string]string{}, map[string]lockedModel{}
	for _, name := range s.Pipeline.Assets {
		if digests[name], err = s.assets.Digest(name); err != nil {
			return nil, nil, err
		}
		if m, ok := s.assets.pin(name); ok {
			pins[name] = m
		}
	}
	return digests, pins, nil
}

// assetsToBuild are the assets as the pipeline is to see them.
func (s *Session) assetsToBuild() pipeline.Assets {
	switch {
	case s.told != nil:
		return s.told
	case s.away:
		return gotWhereNeeded{s.assets}
	}
	return s.assets
}

// gotWhereNeeded are assets that keep no stage from being built: the machine that runs
// it gets them then.
type gotWhereNeeded struct{ pipeline.Assets }

// Missing implements [pipeline.Assets].
func (gotWhereNeeded) Missing(string) string { return "" }

// toldAssets are the assets of a bundle, on a worker. Stages are named by the digests
// that the bundle says; what is on this machine is held against those before it is used.
type toldAssets struct {
	*assetFinder
	digests map[string]string

	mu   sync.Mutex
	held map[string]bool // that are here, and as told
}

var _ pipeline.Assets = (*toldAssets)(nil)

// Missing implements [pipeline.Assets].
func (t *toldAssets) Missing(string) string { return "" }

// Digest implements [pipeline.Assets].
func (t *toldAssets) Digest(name string) (string, error) {
	if d, ok := t.digests[name]; ok {
		return d, nil
	}
	return t.assetFinder.Digest(name)
}

// get brings the assets to this machine that a stage needs. It may be called from several
// goroutines; one asset is got once.
func (t *toldAssets) get(ctx context.Context, s *engine.Stage) error {
	for _, f := range s.Fields {
		if _, told := t.digests[f.Path]; !told || f.Class != engine.Model {
			continue
		}
		if err := t.getOne(ctx, f.Path); err != nil {
			return err
		}
	}
	return nil
}

func (t *toldAssets) getOne(ctx context.Context, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[name] {
		return nil
	}
	if _, err := t.Dir(ctx, name); err != nil {
		return err
	}
	here, err := t.assetFinder.Digest(name)
	if err != nil {
		return err
	}
	if want := t.digests[name]; here != want {
		return fmt.Errorf("asset %s is another one here (%.12s) than where the spec was submitted (%.12s): pin it with raglab lock, and use machines of one platform", name, here, want)
	}
	t.held[name] = true
	return nil
}
