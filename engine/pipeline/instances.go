package pipeline

import (
	"crypto/sha256"
	"errors"
	"io"
	"sync"

	"raglab/axes"
	"raglab/cache"
	"raglab/engine"
)

// instances makes each instance of a kind once for one set of parameters, so
// that a model is loaded once and not for every stage. Safe for concurrent use.
type instances struct {
	env  Env
	axes axes.Env

	mu    sync.Mutex
	made  map[any]any // by pointer to parameters, which package spec shares
	memos map[cache.Digest]*cache.Memo
	pairs map[cache.Digest]*pairMemory
}

func newInstances(env Env, language string) *instances {
	return &instances{
		env: env,
		axes: axes.Env{
			Language: language, Threads: env.Threads, Deciding: env.Deciding, Asset: env.Assets.Dir, Postgres: env.Postgres,
			Version: env.Version, Downloads: env.Downloads,
		},
		made:  map[any]any{},
		memos: map[cache.Digest]*cache.Memo{},
		pairs: map[cache.Digest]*pairMemory{},
	}
}

// instance returns the one instance of a kind with those parameters.
func instance[T any](i *instances, kind axes.Kind[T], params any) (T, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if made, ok := i.made[params]; ok {
		return made.(T), nil
	}
	made, err := kind.New(params, i.axes)
	if err != nil {
		return made, err
	}
	i.made[params] = made
	return made, nil
}

// memo opens the memory of embeddings, or of scores, of a space once.
func (i *instances) memo(space cache.Digest) (*cache.Memo, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if m, ok := i.memos[space]; ok {
		return m, nil
	}
	m, err := i.env.Memo(space)
	if err != nil {
		return nil, err
	}
	i.memos[space] = m
	return m, nil
}

// pairMemory returns the one memory of scores of a space.
func (i *instances) pairMemory(space cache.Digest) *pairMemory {
	i.mu.Lock()
	defer i.mu.Unlock()
	m, ok := i.pairs[space]
	if !ok {
		m = &pairMemory{space: space, open: i.memo, machine: machineMark(i.env.Machine, i.env.Threads)}
		i.pairs[space] = m
	}
	return m
}

func (i *instances) close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var errs []error
	for _, m := range i.made {
		if c, ok := m.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	for _, m := range i.memos {
		errs = append(errs, m.Close())
	}
	clear(i.made)
	clear(i.memos)
	return errors.Join(errs...)
}

// spaceOf names an embedding space: everything that decides a text's vector, or a
// pair's score.
func spaceOf(fields []engine.Field) cache.Digest {
	buf := []byte("raglab embedding space 1")
	for _, f := range fields {
		buf = engine.AppendValue(buf, string(f.Class))
		buf = engine.AppendValue(buf, f.Path)
		buf = engine.AppendValue(buf, f.Value)
	}
	return sha256.Sum256(buf)
}
