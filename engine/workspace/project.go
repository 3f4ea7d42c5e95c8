package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/spec"
)

// Project is a spec that was submitted from some machine, as a worker has it: the graph
// that its bundle gives here. Its methods may be called from several goroutines.
type Project struct {
	tree    *tree
	session *Session
	stages  map[cache.Key]*engine.Stage // by plan key

	mu sync.Mutex // while the tree is filled
}

// Project lays out a bundle and builds its graph. A stage whose implementation differs
// here has another plan key, so that only those are found that would give what was asked
// for. Close it when done.
func (w *Workspace) Project(ctx context.Context, bundle cache.Digest) (*Project, error) {
	t, err := w.openTree(ctx, cache.Key(bundle))
	if err != nil {
		return nil, err
	}
	exp, err := t.load()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	// What is learnt of the tree's files is of no use to others.
	own := *w
	own.fingerprints = t.fingerprints()
	s, err := own.start(ctx, exp, startOptions{serves: &t.bundle, fixed: t.Best, deciding: t.Threads})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("build the graph of %s: %w", exp.Name, err), t.Close())
	}
	p := &Project{tree: t, session: s, stages: make(map[cache.Key]*engine.Stage, len(s.Pipeline.Graph.Stages))}
	for _, st := range s.Pipeline.Graph.Stages {
		p.stages[st.PlanKey()] = st
	}
	return p, nil
}

// Find returns the stage with a plan key.
func (p *Project) Find(key cache.Key) (*engine.Stage, bool) {
	s, ok := p.stages[key]
	return s, ok
}

// Missing explains why a stage that was asked for is not found: in words that name
// what differs between here and where the spec was submitted.
func (p *Project) Missing(address, kind, version string) string {
	for _, s := range p.session.Pipeline.Graph.Stages {
		if s.Kind.Name == kind && s.Kind.Version != version {
			return fmt.Sprintf("this raglab has %s in version %s, and version %s is asked for: it was submitted by raglab %s, and this is %s", kind, s.Kind.Version, version, p.tree.Program, p.session.Version)
		}
	}
	text := fmt.Sprintf("the spec gives another %s here than where it was submitted, by raglab %s: files that it names by absolute paths", address, p.tree.Program)
	if len(p.tree.Env) > 0 {
		text += ", and the environment variables " + strings.Join(p.tree.Env, ", ")
	}
	return text + " must be the same here as when it was submitted"
}

// Prepare brings to this machine what a stage reads: models, libraries, and files of
// where the spec was submitted.
func (p *Project) Prepare(ctx context.Context, s *engine.Stage) error {
	if err := p.session.told.get(ctx, s); err != nil {
		return err
	}
	return p.fill(ctx, s)
}

// fill brings the local files that a stage reads.
func (p *Project) fill(ctx context.Context, s *engine.Stage) error {
	named, many := map[string]bool{}, false
	for _, f := range s.Fields {
		if text, ok := f.Value.(string); ok && (f.Class == engine.Source || f.Class == engine.Model) {
			named[text] = true
			many = many || strings.HasSuffix(f.Path, " files)")
		}
	}
	if len(named) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tree.fill(ctx, func(d cache.Digest) bool { return many || named[d.String()] })
}

// Experiment is the name of the spec.
func (p *Project) Experiment() string { return p.session.Experiment.Name }

// Close releases models, connections and files.
func (p *Project) Close() error { return errors.Join(p.session.Close(), p.tree.Close()) }

// refix brings a staged cross to where the axes are fixed as given.
func (s *Session) refix(fixed map[string]string) {
	stages := s.Experiment.Cross().Stages()
	if stages == nil {
		return
	}
	for {
		axis, _ := stages.Next(s.best)
		label, ok := fixed[axis]
		if axis == "" || !ok {
			return
		}
		s.best = maps.Clone(s.best)
		s.best[axis] = label
		if next, rows := stages.Next(s.best); next != "" {
			s.add(rows)
		}
	}
}

// add adds rows that are not there yet.
func (s *Session) add(rows []*spec.Configuration) {
	for _, c := range rows {
		if !slices.ContainsFunc(s.rows, func(have *spec.Configuration) bool { return have.Ordinal == c.Ordinal }) {
			s.rows = append(s.rows, c)
		}
	}
}

var (
	_ fleet.Project   = (*Project)(nil)
	_ fleet.Preparer  = (*Project)(nil)
	_ fleet.Explainer = (*Project)(nil)
)
