package fleet

import (
	"context"
	"errors"
	"sync"

	"raglab/cache"
)

// openGraphs is how many graphs a worker keeps although no stage of them runs.
const openGraphs = 4

// graphs are the projects that a worker has open. Each is built once, and closed when
// nobody uses it and others have been used since.
type graphs struct {
	source Source

	mu     sync.Mutex
	opened []*graph // the latest used last
	errs   []error
}

// graph is a project, or one that is being built.
type graph struct {
	bundle  cache.Digest
	users   int
	built   chan struct{} // closed when it is, or cannot be
	project Project
	err     error
}

// open returns the project of a bundle, for use until done is called. It is built in a
// context that does not end with who asked first.
func (g *graphs) open(ctx, building context.Context, bundle cache.Digest) (p Project, done func(), err error) {
	one, build := g.take(bundle)
	if build {
		one.project, one.err = g.source.Graph(building, bundle)
		close(one.built)
	}
	select {
	case <-one.built:
		err = one.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		g.leave(one)
		return nil, nil, err
	}
	return one.project, func() { g.leave(one) }, nil
}

// take finds the graph of a bundle, or says that the caller is to build it.
func (g *graphs) take(bundle cache.Digest) (one *graph, build bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, o := range g.opened {
		if o.bundle == bundle {
			g.opened = append(append(g.opened[:i:i], g.opened[i+1:]...), o)
			o.users++
			return o, false
		}
	}
	one = &graph{bundle: bundle, users: 1, built: make(chan struct{})}
	g.opened = append(g.opened, one)
	return one, true
}

// leave ends a use. A graph that could not be built is forgotten, so that the next one
// tries again.
func (g *graphs) leave(one *graph) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one.users--
	var keep []*graph
	idle := 0
	for i := len(g.opened) - 1; i >= 0; i-- {
		o := g.opened[i]
		switch {
		case o.failed():
		case o.users > 0:
			keep = append(keep, o)
		case idle < openGraphs:
			idle++
			keep = append(keep, o)
		default:
			g.errs = append(g.errs, o.project.Close())
		}
	}
	for i, j := 0, len(keep)-1; i < j; i, j = i+1, j-1 {
		keep[i], keep[j] = keep[j], keep[i]
	}
	g.opened = keep
}

// failed reports whether it could not be built.
func (o *graph) failed() bool {
	select {
	case <-o.built:
		return o.err != nil
	default:
		return false
	}
}

// close closes all. Nothing of them is in use.
func (g *graphs) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.opened {
		if !o.failed() {
			g.errs = append(g.errs, o.project.Close())
		}
	}
	g.opened = nil
	return errors.Join(g.errs...)
}
