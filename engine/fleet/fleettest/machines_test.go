package fleettest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/folder"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// envMachine makes the test binary a worker: it holds a machine as JSON.
const envMachine = "RAGLAB_TEST_FLEET_MACHINE"

func TestMain(m *testing.M) {
	if text := os.Getenv(envMachine); text != "" && !private.IsSupervisor(os.Args) {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// machine is one with a cache folder of its own; what it shares with others are the
// server and the store.
type machine struct {
	Name    string
	Private *private.Config
	DSN     string
	Schema  string
	Cache   string
	Store   string
	Counter string // a file in which stages note that they run
}

const (
	layers, width = 6, 16
	stagePause    = 150 * time.Millisecond
)

// tiers opens the machine's cache with the store behind it.
func (m machine) tiers() (tiered *shared.Tiered, end func() error, err error) {
	local, err := cache.OpenLocal(m.Cache, cache.Options{NoSync: true})
	if err != nil {
		return nil, nil, err
	}
	bucket, err := folder.New(m.Store)
	if err != nil {
		return nil, nil, errors.Join(err, local.Close())
	}
	store := shared.New(bucket, shared.Options{Mode: shared.Write, Name: m.Store})
	end = func() error { return errors.Join(store.Close(), local.Close()) }
	return shared.NewTiered(local, store, shared.TieredOptions{Strict: true}), end, nil
}

func (m machine) connect(ctx context.Context) (*pg.DB, error) {
	return pg.Connect(ctx, pg.Config{
		DSN: pg.DSN(m.DSN), Private: m.Private, Schema: m.Schema, Version: "test", Getenv: func(string) string { return "" },
	})
}

// graph is what all machines build.
func (m machine) graph() *engine.Graph {
	g := engine.NewGraph()
	fleettest.Layered(g, layers, width, stagePause, func(do executortest.Do) executortest.Do {
		return func(ctx context.Context, t *engine.Task) error {
			f, err := os.OpenFile(m.Counter, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err == nil {
				_, err = fmt.Fprintln(f, t.Address)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				return err
			}
			return do(ctx, t)
		}
	})
	return g
}

// Graph makes the machine a source: of whatever bundle, it has one graph.
func (m machine) Graph(context.Context, cache.Digest) (fleet.Project, error) {
	return project{m.graph()}, nil
}

type project struct{ *engine.Graph }

func (p project) Find(k cache.Key) (*engine.Stage, bool) { return p.ByKey(k) }
func (project) Close() error                             { return nil }

// work is a worker's process: it drains when its input ends.
func work(text string) error {
	var m machine
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	ctx := context.Background()
	tiered, end, err := m.tiers()
	if err != nil {
		return err
	}
	db, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	q, err := river.Open(ctx, river.Options{DB: db, Name: m.Name, Version: "test", Slots: map[fleet.Class]int{fleet.CPU: 3}, Backups: fleet.Backups{Off: true}})
	if err != nil {
		return err
	}
	w := &fleet.Worker{
		Name: m.Name, Queue: q, Source: m, Fetch: tiered, Push: tiered, Lease: q, Ahead: 1,
		Classes: []fleet.Class{fleet.CPU}, Log: hclog.New(&hclog.LoggerOptions{Name: m.Name, Output: os.Stderr, Level: hclog.Error}),
		Local: engine.Local{Store: tiered, Capacity: engine.Resources{CPU: 2}, Now: time.Now, Log: hclog.NewNullLogger()},
	}
	drain := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(drain)
	}()
	err = w.Run(ctx, drain)
	return errors.Join(err, q.Close(ctx), end())
}

// park are worker processes.
type park struct {
	t     *testing.T
	base  machine
	mu    sync.Mutex
	all   []*process
	last  int
	kills int
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	said  bytes.Buffer
}

func (p *park) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	m := p.base
	m.Name = fmt.Sprintf("machine%d", p.last)
	m.Cache = filepath.Join(p.t.TempDir(), "cache")
	text, err := json.Marshal(m)
	if err != nil {
		p.t.Error(err)
		return
	}
	one := &process{cmd: exec.Command(os.Args[0])}
	one.cmd.Env = append(os.Environ(), envMachine+"="+string(text))
	one.cmd.Stderr = &one.said
	if one.stdin, err = one.cmd.StdinPipe(); err == nil {
		err = one.cmd.Start()
	}
	if err != nil {
		p.t.Error(err)
		return
	}
	p.all = append(p.all, one)
}

// kill kills the machine that has been there longest, without warning.
func (p *park) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[0]
	p.all = p.all[1:]
	p.kills++
	if err := one.cmd.Process.Kill(); err != nil {
		p.t.Error(err)
	}
	_ = one.cmd.Wait() // it was killed
}

// end drains all machines.
func (p *park) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		_ = one.stdin.Close()
	}
	for _, one := range p.all {
		if err := one.cmd.Wait(); err != nil {
			p.t.Errorf("a machine ended with %v: %s", err, one.said.String())
		}
	}
	p.all = nil
}

// meddle kills a machine and adds one, again and again.
func (p *park) meddle(every time.Duration) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				p.start()
				p.kill()
			}
		}
	}()
	return func() { close(over); <-ended }
}

// outputs are the texts of all stages, by address.
func outputs(t *testing.T, store cache.Store, g *engine.Graph, out *engine.Outcomes) map[string]string {
	t.Helper()
	m := map[string]string{}
	for i, s := range g.Stages {
		if out.State[i] != engine.StateDone {
			t.Fatalf("%s is %s; failures %v", s.Address, out.State[i], out.Failures)
		}
		raw, err := store.ReadAll(t.Context(), out.Outputs[i][0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		m[s.Address] = string(raw)
	}
	return m
}

func plan(t *testing.T, store cache.Store, g *engine.Graph) *engine.Plan {
	t.Helper()
	p, err := (&engine.Planner{Store: store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// applier is the machine that the test itself is.
func applier(t *testing.T) (machine, *shared.Tiered, *river.Queue) {
	t.Helper()
	config, dir := pgtest.Config(t), t.TempDir()
	m := machine{
		Private: config.Private, DSN: string(config.DSN), Schema: config.Schema,
		Cache: filepath.Join(dir, "cache"), Store: filepath.Join(dir, "store"), Counter: filepath.Join(dir, "counter"),
	}
	tiered, end, err := m.tiers()
	if err != nil {
		t.Fatal(err)
	}
	db, err := m.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, err := river.Open(t.Context(), river.Options{DB: db, Name: "applier", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(q.Close(ctx), end(), db.DropSchema(ctx)); err != nil {
			t.Errorf("clean up: %v", err)
		}
		db.Close()
	})
	return m, tiered, q
}

// Machines that share a server and a store come to what one machine makes, though one
// of them is killed every second and a half: no more is done twice than they had in
// hand.
func TestMachines_killed(t *testing.T) {
	t.Parallel()
	one := machine{Counter: filepath.Join(t.TempDir(), "counter")}
	local, err := cache.OpenLocal(t.TempDir(), cache.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	g := one.graph()
	out, err := (&engine.Local{
		Store: local, Capacity: engine.Resources{CPU: 32}, Now: time.Now, Log: hclog.NewNullLogger(), Events: func(engine.Event) {},
	}).Apply(t.Context(), plan(t, local, g))
	if err != nil {
		t.Fatal(err)
	}
	want := outputs(t, local, g, out)

	m, tiered, q := applier(t)
	park := &park{t: t, base: m}
	for range 3 {
		park.start()
	}
	ex := &fleet.Executor{
		Queue: q, Push: tiered, Experiment: "machines", Now: time.Now, Log: hclog.NewNullLogger(), Deaths: 20,
		Bundle: func(context.Context, *engine.Plan) (cache.Digest, error) { return cache.Digest{}, nil },
		Events: func(engine.Event) {},
	}
	g = m.graph()
	stop := park.meddle(1500 * time.Millisecond)
	began := time.Now()
	out, err = ex.Apply(t.Context(), plan(t, tiered, g))
	stop()
	if err != nil {
		t.Fatal(err)
	}
	park.end()
	if got := outputs(t, tiered, g, out); !maps.Equal(got, want) {
		t.Error("the machines came to other results than one")
	}
	raw, err := os.ReadFile(m.Counter)
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Count(string(raw), "\n")
	repeats := runs - len(g.Stages)
	t.Logf("%d stages in %v; %d machines killed, %d stages repeated", len(g.Stages), time.Since(began).Round(time.Millisecond), park.kills, repeats)
	if repeats > 2*park.kills {
		t.Errorf("%d stages were repeated for %d machines that had two in hand", repeats, park.kills)
	}
	if p := plan(t, tiered, g); p.Changes() {
		t.Errorf("%d stages are left", len(p.Stages)-p.Count(engine.Cached))
	}
}
