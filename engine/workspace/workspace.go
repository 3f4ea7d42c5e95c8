// Package workspace joins the parts that a command needs: the cache, the
// assets, a loaded spec, its pipeline, a plan and the apply of one.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/axes"
	"raglab/cache"
	"raglab/cache/shared"
	"raglab/engine"
	"raglab/engine/pipeline"
	"raglab/internal/assets"
	"raglab/internal/report"
	"raglab/spec"
)

// Options open a workspace.
type Options struct {
	// CacheDir is the cache's folder; empty takes RAGLAB_CACHE or the default.
	CacheDir string
	// ReadOnly promises that nothing is written.
	ReadOnly bool
	// Threads a stage may use; 0 means one for each processor.
	Threads int
	// Command is what others are told while they wait for this process.
	Command string
	// Version of the program.
	Version string
	Log     hclog.Logger
	// Warn is told of what is found damaged.
	Warn func(string)
	// Progress is told what takes long before an apply begins; nil tells nobody.
	Progress func(string)
	// AssetEvents is told how far the fetching of assets is; nil tells nobody.
	AssetEvents func(assets.Event)
	// Getenv reads an environment variable for what concerns the database; nil is
	// os.Getenv.
	Getenv func(string) string
	// Remote names the store that is shared with other machines.
	Remote StoreOptions
}

// Workspace is an open cache with what belongs to it.
type Workspace struct {
	Options
	// Cache is the folder of this machine: with what experiments remember, run logs,
	// embeddings, pins.
	Cache *cache.Local
	// Store is where results are: that folder, and the store behind it if there is one.
	Store *shared.Tiered

	dir          string
	assets       *assetFinder
	fingerprints *pipeline.Fingerprints
}

// Open opens the workspace. The caller must close it.
func Open(o Options) (*Workspace, error) {
	dir, err := cacheDir(o.CacheDir)
	if err != nil {
		return nil, err
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	local, err := cache.OpenLocal(dir, cache.Options{
		ReadOnly: o.ReadOnly, Command: o.Command,
		OnCorrupt: func(e *cache.CorruptError) { o.Warn(e.Error()) },
	})
	if err != nil {
		return nil, err
	}
	w := &Workspace{Options: o, Cache: local, dir: dir, assets: newAssetFinder(dir, o)}
	if err := w.openStore(o.Remote); err != nil {
		return nil, errors.Join(err, local.Close())
	}
	known, err := local.State(globalState).Read("fingerprints")
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		o.Log.Debug("no fingerprints", "error", err)
	}
	w.fingerprints = pipeline.ParseFingerprints(known)
	return w, nil
}

// downloads is the folder in which sources keep what they fetched; empty when
// nothing may be written.
func (w *Workspace) downloads() string {
	if w.ReadOnly {
		return ""
	}
	return filepath.Join(w.dir, downloadsFolder)
}

// globalState is the state that belongs to no experiment.
const globalState = "_raglab"

func cacheDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := os.Getenv("RAGLAB_CACHE"); dir != "" {
		return dir, nil
	}
	return cache.DefaultDir()
}

// Close writes what was learnt of local files and closes the cache.
func (w *Workspace) Close() error {
	var err error
	if b := w.fingerprints.Encode(); b != nil && !w.ReadOnly {
		err = w.Cache.State(globalState).Replace("fingerprints", b)
	}
	return errors.Join(err, w.closeStore(), w.Cache.Close())
}

// Session is an experiment in a workspace.
type Session struct {
	*Workspace
	Experiment *spec.Experiment
	Pipeline   *pipeline.Pipeline
	Outputs    []report.Output
	Ledger     engine.Ledger
	database   *Database
	assets     *assetFinder // with what is pinned for the spec
	told       *toldAssets  // in a worker, the same as the bundle says
	state      *cache.State
	// recalled is what became of the last results; for the first plan.
	recalled *engine.Recollection
	// rows are the configurations of the pipeline; a staged cross adds more as
	// axes are fixed, at the labels in best.
	rows []*spec.Configuration
	best map[string]string
	// paid is what applies of the session were billed for, in USD.
	paid float64
	startOptions
	// graph names the pipeline as it was first built, see [SavedPlan.Stale].
	graph string
}

// Start builds the pipeline of an experiment. Close it when done.
func (w *Workspace) Start(ctx context.Context, exp *spec.Experiment) (*Session, error) {
	return w.start(ctx, exp, startOptions{})
}

// StartAway is Start for a session whose stages run on other machines: what they need
// of models and the like is got there.
func (w *Workspace) StartAway(ctx context.Context, exp *spec.Experiment) (*Session, error) {
	return w.start(ctx, exp, startOptions{away: true})
}

// startOptions say what a session is for.
type startOptions struct {
	// sketch is set for a session that runs nothing.
	sketch bool
	// away is set when assets that are not here keep no stage from running.
	away bool
	// serves is the bundle in a worker, which makes stages for others and remembers
	// nothing of the experiment; nil elsewhere.
	serves *bundle
	// deciding is how many threads decide what shows in a result; 0 is this machine's.
	deciding int
	// fixed are the axes that a staged cross has fixed already.
	fixed map[string]string
}

// Sketch is Start for a session that plans and applies nothing: the judged questions
// need not be there yet.
func (w *Workspace) Sketch(ctx context.Context, exp *spec.Experiment) (*Session, error) {
	return w.start(ctx, exp, startOptions{sketch: true})
}

func (w *Workspace) start(ctx context.Context, exp *spec.Experiment, o startOptions) (*Session, error) {
	s := &Session{
		Workspace: w, startOptions: o, Experiment: exp, state: w.Cache.State(exp.Name), Ledger: engine.Ledger{},
		rows: exp.Cross().Configurations, best: map[string]string{},
	}
	var err error
	if s.database, err = w.Database(exp); err != nil {
		return nil, err
	}
	if s.assets, err = w.assetsFor(exp); err != nil {
		return nil, err
	}
	if b := o.serves; b != nil {
		s.assets.seen, s.assets.remember = modelLock{1, b.Models}, nil
		s.told = &toldAssets{assetFinder: s.assets, digests: b.Assets, held: map[string]bool{}}
	}
	s.refix(o.fixed)
	if o.serves == nil && !o.sketch {
		s.recall(ctx)
	}
	if err := s.build(ctx); err != nil {
		s.recalled.Wait()
		return nil, err
	}
	return s, nil
}

// recall reads the ledger, and begins to ask for what it names.
func (s *Session) recall(ctx context.Context) {
	raw, err := s.state.Read("ledger")
	switch {
	case errors.Is(err, cache.ErrNotFound):
	case err != nil:
		s.Log.Debug("no ledger", "error", err)
	default:
		if l, err := engine.ParseLedger(raw); err == nil {
			s.Ledger = l
		}
	}
	s.recalled = engine.Recall(ctx, s.Store, s.Ledger)
}

// build makes the pipeline, in place of one made before.
func (s *Session) build(ctx context.Context) error {
	if s.Pipeline != nil {
		if err := s.Pipeline.Close(); err != nil {
			return err
		}
	}
	p, err := pipeline.Build(ctx, s.Experiment, s.rows, pipeline.Env{
		Threads: s.Threads, Deciding: s.deciding, Machine: machine(), Version: s.Version, Downloads: s.downloads(), Sketch: s.sketch, Assets: s.assetsToBuild(), Memo: s.Cache.Memo,
		Fingerprints: s.fingerprints, Log: s.Log,
		PostgresAsset: s.database.asset(), Postgres: s.database.Connect, Tables: s.database,
	})
	if err != nil {
		return err
	}
	s.Pipeline = p
	if len(s.best) == 0 {
		s.graph = graphDigest(p.Graph)
	}
	if err := s.limit(); err != nil || s.serves != nil {
		return err
	}
	s.Outputs = nil
	for _, opt := range s.Experiment.Outputs {
		o, err := s.output(opt)
		if err != nil {
			return err
		}
		s.Outputs = append(s.Outputs, o)
	}
	return nil
}

// output makes an output of its block.
func (s *Session) output(opt *spec.Option) (report.Output, error) {
	params, diags := s.Experiment.Params(opt, nil, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	kind, _ := axes.Find(outputs(), opt.Kind)
	o, err := kind.New(params, axes.Env{})
	if err != nil {
		if d := s.Experiment.ParamError(opt, err); d != nil {
			return nil, d
		}
	}
	return o, err
}

// Report collects the results of an apply, and remembers the comparisons.
func (s *Session) Report(ctx context.Context, out *engine.Outcomes) (*report.Report, error) {
	raw, err := s.state.Read("comparisons")
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		s.Log.Debug("no comparisons", "error", err)
	}
	memory := report.ParseMemory(raw)
	s.Pipeline.Lost = s.lossMemory()
	r, err := s.Pipeline.Report(ctx, s.Store, out, memory)
	if err != nil {
		return nil, err
	}
	made, err := s.provenance(*r.Provenance)
	if err != nil {
		return nil, err
	}
	r.SetProvenance(made)
	if b := memory.Encode(); b != nil && !s.ReadOnly {
		if err := s.state.Replace("comparisons", b); err != nil {
			s.Log.Debug("comparisons not kept", "error", err)
		}
	}
	s.keepLosses()
	return r, nil
}

// Details collects the rankings behind the report of an apply, see
// [pipeline.Pipeline.Details].
func (s *Session) Details(ctx context.Context, out *engine.Outcomes, r *report.Report) (*report.Details, error) {
	return s.Pipeline.Details(ctx, s.Store, out, r)
}

// Close releases models, memories and connections.
func (s *Session) Close() error {
	s.recalled.Wait()
	return errors.Join(s.Pipeline.Close(), s.database.Close())
}

// Selection narrows a plan.
type Selection struct {
	// Targets are addresses, or the beginnings of some, to plan alone with
	// what they need. None plans all.
	Targets []string
	// Force are addresses to run although their result is there.
	Force []string
}

// simulateBytes bounds what a plan reads to run cheap stages in memory.
const simulateBytes = 64 << 20

// Plan makes the plan. In a staged cross whose present stage has all its results
// it goes on to the next stage, so that the plan is for the first one with
// something to do.
func (s *Session) Plan(ctx context.Context, sel Selection) (*engine.Plan, error) {
	for {
		plan, err := s.planOnce(ctx, sel)
		if err != nil || plan.Changes() || plan.Partial {
			return plan, err
		}
		more, err := s.Advance(ctx, PlannedOutputs(plan))
		if err != nil || !more {
			return plan, err
		}
	}
}

func (s *Session) planOnce(ctx context.Context, sel Selection) (*engine.Plan, error) {
	wanted, err := s.wanted(sel.Targets)
	if err != nil {
		return nil, err
	}
	planner := &engine.Planner{
		Store: s.Store, Ledger: s.Ledger, Recollection: s.recalled, Log: s.Log, SimulateBytes: simulateBytes,
		Slow: func(next *engine.Stage, done, total int) {
			if s.Progress != nil {
				s.Progress(fmt.Sprintf("planning: %d of %d stages, at %s", done, total, next.Address))
			}
		},
	}
	s.recalled = nil
	if len(sel.Force) > 0 {
		forced := map[*engine.Stage]bool{}
		for _, pattern := range sel.Force {
			found := s.Pipeline.Graph.Match(pattern)
			if len(found) == 0 {
				return nil, s.noStage(pattern)
			}
			for _, st := range found {
				forced[st] = true
			}
		}
		planner.Force = func(st *engine.Stage) bool { return forced[st] }
	}
	plan, err := planner.Plan(ctx, s.Pipeline.Graph, wanted)
	if err != nil {
		return nil, err
	}
	if note := s.storeNote(ctx, plan); note != "" {
		plan.Notes = append(plan.Notes, note)
	}
	return plan, nil
}

func (s *Session) wanted(targets []string) ([]bool, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	var roots []*engine.Stage
	for _, pattern := range targets {
		found := s.Pipeline.Graph.Match(pattern)
		if len(found) == 0 {
			return nil, s.noStage(pattern)
		}
		roots = append(roots, found...)
	}
	return s.Pipeline.Graph.Closure(roots), nil
}

func (s *Session) noStage(pattern string) error {
	var names []string
	for _, st := range s.Pipeline.Graph.Stages {
		names = append(names, st.Address)
	}
	err := fmt.Errorf("no stage of %s is called %q", s.Experiment.Name, pattern)
	if near := spec.Suggest(pattern, names); near != "" {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return fmt.Errorf("%w; raglab plan -all lists them", err)
}

// ApplyOptions say how a plan is applied.
type ApplyOptions struct {
	FailFast    bool
	LockTimeout time.Duration
	Verify      float64
	Reason      string // the command line, for the run log
	Events      func(engine.Event)
	Backoff     func(attempt int) time.Duration
	// Away hands the stages to others; nil runs them here.
	Away *Away
}

// Apply runs a plan, keeps a log of it, and remembers what the experiment now
// consists of. The outcomes are never nil when the error is.
func (s *Session) Apply(ctx context.Context, plan *engine.Plan, o ApplyOptions) (*engine.Outcomes, error) {
	log, err := s.openLog(plan, o)
	if err != nil {
		return nil, err
	}
	ex, err := s.executor(o, func(e engine.Event) {
		log.event(e, ctx.Err() != nil)
		o.Events(e)
	})
	if err != nil {
		return nil, errors.Join(err, log.close(nil))
	}
	prefetched := func() {}
	if o.Away == nil {
		s.database.warm(ctx, plan)
		prefetched = s.prefetch(ctx, plan)
	}
	out, err := ex.Apply(ctx, plan)
	prefetched()
	if err != nil {
		return nil, errors.Join(err, log.close(out))
	}
	s.paid = out.PaidUSD
	if err := log.close(out); err != nil {
		return out, err
	}
	if o.Away == nil {
		s.share(ctx, out)
	}
	next := s.Ledger.Update(plan, out)
	if next.Equal(s.Ledger) {
		return out, nil
	}
	s.Ledger = next
	if err := s.state.Replace("ledger", next.Encode()); err != nil {
		return out, fmt.Errorf("remember results: %w", err)
	}
	return out, nil
}

// executor is what brings about a plan: here, or by others.
func (s *Session) executor(o ApplyOptions, events func(engine.Event)) (engine.Executor, error) {
	if o.Away != nil {
		return s.handOut(o, events)
	}
	return &engine.Local{
		Store: s.store(), Capacity: s.Capacity(),
		Now: time.Now, Log: s.Log, FailFast: o.FailFast, LockTimeout: o.LockTimeout, Verify: o.Verify, Backoff: o.Backoff,
		Limits:    s.limits(),
		Budget:    time.Duration(s.Experiment.Budget.Seconds * float64(time.Second)),
		BudgetUSD: s.Experiment.Budget.USD, PaidUSD: s.paid,
		Provenance: provenance(s.Options),
		Events:     events,
	}, nil
}

// graphDigest names a graph: what a saved plan must find unchanged.
func graphDigest(g *engine.Graph) string {
	h := sha256.New()
	for _, s := range g.Stages {
		k := s.PlanKey()
		h.Write(k[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
