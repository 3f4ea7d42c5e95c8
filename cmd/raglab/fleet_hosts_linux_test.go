package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/folder"
	"raglab/cache/shared/s3"
	"raglab/cache/shared/s3/s3test"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// machines are hosts on a network with one queue and one store.
type machines struct {
	*lan
	server private.Config
	store  string // URL
	hosts  []*host
}

// newMachines makes n hosts, each with a cache folder of its own, and the queue's
// server.
func newMachines(t *testing.T, n int, store string) *machines {
	t.Helper()
	m := &machines{lan: newLAN(t), server: pgtest.Private(t), store: store}
	lease, err := private.Acquire(t.Context(), m.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	m.forward(5432, func(ctx context.Context) (net.Conn, error) {
		status, err := private.Look(m.server)
		if err != nil {
			return nil, err
		}
		e := status.Endpoint
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", filepath.Join(e.Host, fmt.Sprintf(".s.PGSQL.%d", e.Port)))
	})
	for range n {
		m.hosts = append(m.hosts, m.machine())
	}
	return m
}

// machine adds a host.
func (m *machines) machine() *host {
	work := m.TempDir()
	linkAssets(m.T, work)
	return m.host(work, append(s3test.Environ(),
		"NO_PROXY="+lanServer, "RAGLAB_DSN=postgres://raglab@"+lanServer+"/raglab?sslmode=disable",
		"RAGLAB_STORE="+m.store, "RAGLAB_STORE_MODE=write")...)
}

// restart kills the server and starts it again.
func (m *machines) restart() error {
	status, err := private.Look(m.server)
	if err != nil || !status.Running {
		return fmt.Errorf("no server to restart: %+v, %w", status, err)
	}
	if err := syscall.Kill(status.Server, syscall.SIGKILL); err != nil {
		return err
	}
	gone := time.NewTicker(10 * time.Millisecond)
	defer gone.Stop()
	for pgtest.Alive(status.Server) || pgtest.Alive(status.Supervisor) {
		<-gone.C
	}
	ctx := context.WithoutCancel(m.Context())
	lease, err := private.Acquire(ctx, m.server)
	if err != nil {
		return err
	}
	m.Cleanup(lease.Release)
	_, err = lease.Endpoint(ctx)
	return err
}

// linkAssets gives a work folder the user's assets that there are.
func linkAssets(t *testing.T, work string) {
	t.Helper()
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(user, "raglab", "assets", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, asset := range found {
		linkAsset(t, work, asset)
	}
}

// contents are the outputs of all results in a cache, by key, but for those of the
// kinds that are not the same each time they are made.
func contents(t *testing.T, dir string) map[string][]cache.Blob {
	t.Helper()
	store, err := cache.OpenLocal(dir, cache.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	keys, err := store.Keys(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]cache.Blob{}
	for _, k := range keys {
		r, err := store.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		found[k.String()] = r.Outputs
	}
	return found
}

// fleetSpec has enough rows that hosts have something to share.
const fleetSpec = `experiment "made" {}
corpus "jsonl" { path = "docs.jsonl" }
golden {
  file = "golden.jsonl"
  split { by = "hash" }
}
axis "text" { use = ["simple", "prefix", "unaccent"] }
axis "k1" { values = [0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0] }
axis "b" { values = [0.1, 0.3, 0.5, 0.75, 0.9] }
axis "retriever" {
  option "bm25" {
    k1 = axis.k1
    b  = axis.b
  }
}
score { metrics = ["ndcg@5"] }
output "json" { path = "out.json" }
`

// TestFleet_hosts applies one spec here and on three hosts that share a queue and a
// store, each with a cache of its own, and wants the same bytes and tables.
func TestFleet_hosts(t *testing.T) {
	t.Parallel()
	dir := newMade(t, fleetSpec, 250)
	alone := startProgram(dir, dir, "raglab", "apply", "-quiet", "made.hcl")
	if code := alone.wait(); code != exitOK {
		t.Fatalf("apply ended with %d:\n%s", code, alone.err.String())
	}
	want, bytes := results(t, dir), contents(t, filepath.Join(dir, ".test", "cache"))

	m := newMachines(t, 4, "file://"+t.TempDir())
	for _, h := range m.hosts[1:] {
		h.worker()
	}
	p := m.hosts[0].start(dir, "raglab", "apply", "-on", "river", "made.hcl")
	if code := p.wait(); code != exitOK {
		t.Fatalf("apply -on river ended with %d:\n%s", code, p.err.String())
	}
	if diff := cmp.Diff(want, results(t, dir)); diff != "" {
		t.Errorf("the tables are not those of one machine:\n%s", diff)
	}
	same(t, bytes, m.store)
	again := m.hosts[0].start(dir, "raglab", "apply", "-on", "river", "made.hcl")
	if code := again.wait(); code != exitOK || !strings.Contains(again.err.String(), "0 to run") && !strings.Contains(again.err.String(), "othing to do") {
		t.Errorf("a second apply ended with %d:\n%s", code, again.err.String())
	}
}

// TestFleet_quickstart is the same with the quickstart: real vectors, of a model that
// each host has.
func TestFleet_quickstart(t *testing.T) {
	t.Parallel()
	e := newExperiment(t, "quickstart")
	linkAssets(t, e.dir)
	writeFile(t, filepath.Join(e.dir, "README.md"), "<!-- raglab:quickstart -->\n<!-- /raglab:quickstart -->\n")
	e.run("apply", "-quiet")
	csv := filepath.Join(e.dir, "results", "quickstart.csv")
	want, bytes := metricsIn(t, csv), contents(t, filepath.Join(e.dir, ".test", "cache"))

	m := newMachines(t, 4, "file://"+t.TempDir())
	for _, h := range m.hosts[1:] {
		h.worker()
	}
	p := m.hosts[0].start(e.dir, "raglab", "apply", "-on", "river", "-quiet", e.spec)
	if code := p.wait(); code != exitOK {
		t.Fatalf("apply -on river ended with %d:\n%s", code, p.err.String())
	}
	if diff := cmp.Diff(want, metricsIn(t, csv)); diff != "" {
		t.Errorf("the table is not that of one machine:\n%s", diff)
	}
	same(t, bytes, m.store)
}

// metricsIn is what a CSV output holds that is no measurement of time.
func metricsIn(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := metricsOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// same wants each result of one machine in the store of a URL, with the same bytes.
func same(t *testing.T, alone map[string][]cache.Blob, url string) {
	t.Helper()
	store, err := shared.Open(t.Context(), []shared.Driver{folder.Driver(), s3.Driver()}, url, shared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for text, outputs := range alone {
		key, err := cache.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.Get(t.Context(), key)
		if err != nil {
			t.Errorf("result %s: %v", text[:12], err)
			continue
		}
		if diff := cmp.Diff(outputs, r.Outputs); diff != "" {
			t.Errorf("result %s differs:\n%s", text[:12], diff)
		}
	}
}

// worker starts a worker on the host, which is stopped when the test ends.
func (h *host) worker() *program {
	h.lan.Helper()
	p := h.start(h.work, "raglab", "worker", "-threads", "1", "-grace", "5s")
	h.lan.Cleanup(func() {
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have been killed
		<-p.ended
		if strings.Contains(p.err.String(), s3test.SecretKey) {
			h.lan.Error("the log of a worker holds the store's secret")
		}
		if text := p.err.String(); h.lan.Failed() {
			h.lan.Logf("worker on %s:\n%s", h.netns, text[:min(len(text), 4000)])
		}
	})
	return p
}

// TestFleet_chaos kills a worker every second and a half, cuts one host off for 20
// seconds, kills the server twice, and has the store refuse every tenth request. It wants
// the tables of an undisturbed apply, no result in the store that differs from those of
// one machine, and no more repeated than the faults account for.
func TestFleet_chaos(t *testing.T) {
	t.Parallel()
	// The store's pauses are most of the time: a smaller cross than the other test's.
	fewer := strings.NewReplacer("[0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0]", "[0.8, 1.2, 1.6]", "[0.1, 0.3, 0.5, 0.75, 0.9]", "[0.3, 0.6, 0.9]")
	dir := newMade(t, fewer.Replace(fleetSpec), 250)
	alone := startProgram(dir, dir, "raglab", "apply", "-quiet", "made.hcl")
	if code := alone.wait(); code != exitOK {
		t.Fatalf("apply ended with %d:\n%s", code, alone.err.String())
	}
	want, bytes := results(t, dir), contents(t, filepath.Join(dir, ".test", "cache"))

	s := startS3(t)
	bucket, err := s.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	m := newMachines(t, 5, s3test.StoreURL(bucket, fmt.Sprintf("http://%s:9000", lanServer)))
	proxy, err := s3test.NewProxy(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	proxy.Refuse = func(n int64, _ *http.Request) int {
		if n%10 != 0 {
			return 0
		}
		refused.Add(1)
		return http.StatusServiceUnavailable
	}
	before := &http.Server{Handler: proxy}
	t.Cleanup(func() { _ = before.Close() })
	go func() { _ = before.Serve(m.listen(9000)) }() // until it is closed

	p := m.hosts[0].start(dir, "raglab", "apply", "-on", "river", "-json", "made.hcl")
	if err := p.awaitOut(`"type":"submitted"`); err != nil {
		t.Fatal(err)
	}
	var faults int
	disturbed := make(chan struct{})
	go func() {
		defer close(disturbed)
		faults = m.disturb(p.ended)
	}()
	code := p.wait()
	<-disturbed
	if code != exitOK {
		t.Fatalf("apply -on river ended with %d after %d faults:\n%s\n%s", code, faults, p.out.String(), p.err.String())
	}
	if diff := cmp.Diff(want, results(t, dir)); diff != "" {
		t.Errorf("the tables are not those of one machine:\n%s", diff)
	}
	same(t, bytes, s3test.StoreURL(bucket, s.URL))
	begun := strings.Count(p.out.String(), `"type":"apply_start"`)
	done := strings.Count(p.out.String(), `"how":"executed"`)
	t.Logf("%d faults, %d requests refused; %d stages begun, %d done", faults, refused.Load(), begun, done)
	if done == 0 || begun-done > faults {
		t.Errorf("%d stages were begun for %d that were done, with %d faults", begun, done, faults)
	}
}

// startS3 runs an S3 server for the test.
func startS3(t *testing.T) *s3test.Server {
	t.Helper()
	s, err := s3test.Start(t.Context())
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("the S3 server does not start: %v", err)
	}
	t.Cleanup(s.Stop)
	for _, v := range s3test.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil { // for the test's own look into the store
			t.Fatal(err)
		}
	}
	return s
}

// disturb runs workers and harms them twenty times, or until the apply has ended, and
// returns how often it did.
func (m *machines) disturb(over <-chan struct{}) (faults int) {
	random := rand.New(rand.NewPCG(1, 2))
	workers := make([]*program, len(m.hosts))
	for i, h := range m.hosts[1:] {
		workers[i+1] = h.worker()
	}
	tick := time.NewTicker(1500 * time.Millisecond)
	defer tick.Stop()
	for round := 1; round <= 20; round++ {
		select {
		case <-over:
			return faults
		case <-tick.C:
		}
		faults++
		switch {
		case round == 4 || round == 12:
			if err := m.restart(); err != nil {
				m.Error(err)
				return faults
			}
		case round == 6:
			m.hosts[1].cut()
			back := time.AfterFunc(20*time.Second, m.hosts[1].join)
			defer func() {
				if back.Stop() {
					m.hosts[1].join()
				}
			}()
		default:
			i := 2 + random.IntN(len(m.hosts)-2)
			_ = workers[i].cmd.Process.Kill()
			<-workers[i].ended
			workers[i] = m.hosts[i].worker()
		}
	}
	<-over
	return faults
}
