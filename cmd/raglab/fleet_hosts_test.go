package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/cloud/cloudtest"
	"raglab/cache/shared/folder"
	"raglab/cache/shared/s3"
	"raglab/cache/shared/s3/s3test"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// machines are hosts on a network with one queue and one store.
type machines struct {
	*testing.T
	lan
	server private.Config
	// store is its URL, as a host reaches it.
	store func(cable) string
	hosts []*host
}

// The ports of the servers.
const queuePort, storePort = 5432, 9000

// newMachines makes a network with the queue's server and a store in a folder, and no
// host yet.
func newMachines(t *testing.T) *machines {
	t.Helper()
	folder := "file://" + t.TempDir()
	m := &machines{T: t, lan: newLAN(t), server: pgtest.Private(t), store: func(cable) string { return folder }}
	lease, err := private.Acquire(t.Context(), m.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	m.serve(queuePort, func(ctx context.Context) (net.Conn, error) {
		status, err := private.Look(m.server)
		if err != nil {
			return nil, err
		}
		network, address := pgconn.NetworkAddress(status.Endpoint.Host, uint16(status.Endpoint.Port))
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address)
	})
	return m
}

// add adds n hosts, each with a cache folder of its own.
func (m *machines) add(n int) {
	m.Helper()
	for range n {
		h := &host{T: m.T, cable: m.attach(), work: m.TempDir()}
		linkAssets(m.T, h.work)
		at := h.reach(queuePort)
		name, _, err := net.SplitHostPort(at)
		if err != nil {
			m.Fatal(err)
		}
		h.env = append(s3test.Environ(), "NO_PROXY="+name, "RAGLAB_DSN=postgres://raglab:"+queuePassword+"@"+at+"/raglab?sslmode=disable",
			"RAGLAB_STORE="+m.store(h.cable), "RAGLAB_STORE_MODE=write", "RAGLAB_LOG=debug")
		m.hosts = append(m.hosts, h)
	}
}

// queuePassword is in the hosts' address of the queue, whose server trusts them without.
const queuePassword = theSecret + "-pw"

// restart kills the server and starts it again.
func (m *machines) restart() error {
	status, err := private.Look(m.server)
	if err != nil || !status.Running {
		return fmt.Errorf("no server to restart: %+v, %w", status, err)
	}
	server, err := os.FindProcess(status.Server)
	if err != nil {
		return err
	}
	if err := server.Kill(); err != nil {
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

// contents are the outputs of all results in a cache, by key.
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

	m := newMachines(t)
	m.add(4)
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
	same(t, bytes, m.store(cable{}))
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

	m := newMachines(t)
	m.add(4)
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
	same(t, bytes, m.store(cable{}))
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
	if len(alone) == 0 {
		t.Error("there is nothing to compare")
	}
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
	h.Helper()
	p := h.start(h.work, "raglab", "worker", "-threads", "1", "-grace", "5s")
	h.Cleanup(func() {
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have been killed
		<-p.ended
		noSecrets(h.T, "the log of a worker", p.out.String()+p.err.String())
		if text := p.err.String(); h.Failed() {
			h.Logf("worker %d:\n%s", p.cmd.Process.Pid, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// noSecrets wants none of the hosts' credentials in a text.
func noSecrets(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{s3test.SecretKey, s3test.AccessKey, queuePassword} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s holds a credential: %q", what, text[max(0, i-100):min(len(text), i+len(secret)+20)])
		}
	}
}

// TestFleet_chaos kills workers, every second and a half at most, cuts one host off for 20
// seconds, kills the server twice, and has the store refuse every tenth request. It wants
// the tables of an undisturbed apply, no result in the store that differs from those of
// one machine, no more repeated than the faults account for, and credentials nowhere.
func TestFleet_chaos(t *testing.T) {
	t.Parallel()
	// A smaller cross than the other test's: twenty faults last about as long.
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
	m := newMachines(t)
	refused := m.refusing(s.URL)
	m.store = func(c cable) string { return s3test.StoreURL(bucket, "http://"+c.reach(storePort)) }
	m.add(5)

	began := time.Now()
	p := m.hosts[0].start(dir, "raglab", "apply", "-on", "river", "-json", "made.hcl")
	if err := p.awaitOut(`"type":"submitted"`); err != nil {
		t.Fatal(err)
	}
	var d disturbance
	disturbed := make(chan struct{})
	go func() {
		defer close(disturbed)
		d = m.disturb(p)
	}()
	code := p.wait()
	ended := time.Now()
	<-disturbed
	if code != exitOK {
		t.Fatalf("apply -on river ended with %d after %d faults:\n%s\n%s", code, d.faults, p.out.String(), p.err.String())
	}
	if diff := cmp.Diff(want, results(t, dir)); diff != "" {
		t.Errorf("the tables are not those of one machine:\n%s", diff)
	}
	url := s3test.StoreURL(bucket, s.URL)
	same(t, bytes, url)
	begun := strings.Count(p.out.String(), `"type":"apply_start"`)
	done := strings.Count(p.out.String(), `"how":"executed"`)
	t.Logf("%d faults, %d requests refused; %d stages begun, %d done; %.0f s, %.0f of them after the last fault",
		d.faults, refused.Load(), begun, done, ended.Sub(began).Seconds(), ended.Sub(d.last).Seconds())
	if done == 0 || begun-done > d.faults {
		t.Errorf("%d stages were begun for %d that were done, with %d faults", begun, done, d.faults)
	}
	noSecrets(t, "what apply said", p.out.String()+p.err.String())
	m.noSecretsInQueue()
	noSecretsInNames(t, url)
}

// refusing puts a proxy before the store of an S3 server that refuses every tenth request,
// and counts those.
func (m *machines) refusing(server string) *atomic.Int64 {
	m.Helper()
	proxy, err := cloudtest.NewProxy(server)
	if err != nil {
		m.Fatal(err)
	}
	var refused atomic.Int64
	proxy.Refuse = func(n int64, _ *http.Request) int {
		if n%10 != 0 {
			return 0
		}
		refused.Add(1)
		return http.StatusServiceUnavailable
	}
	before := httptest.NewServer(proxy)
	m.Cleanup(before.Close)
	m.serve(storePort, func(ctx context.Context) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", before.Listener.Addr().String())
	})
	return &refused
}

// connect connects to the queue's server, past the network.
func (m *machines) connect() *pgx.Conn {
	m.Helper()
	status, err := private.Look(m.server)
	if err != nil {
		m.Fatal(err)
	}
	config, err := status.Endpoint.Config(private.Database)
	if err != nil {
		m.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(m.Context(), config)
	if err != nil {
		m.Fatal(err)
	}
	return conn
}

// noSecretsInQueue looks at all rows of raglab's tables on the queue's server.
func (m *machines) noSecretsInQueue() {
	m.Helper()
	conn := m.connect()
	defer func() { _ = conn.Close(context.Background()) }() // what it read is read
	rows, err := conn.Query(m.Context(), "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')")
	if err != nil {
		m.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		m.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		var text string
		if err := conn.QueryRow(m.Context(), "select coalesce(string_agg(r::text, ' '), '') from "+table+" r").Scan(&text); err != nil {
			m.Fatal(err)
		}
		all.WriteString(text)
		noSecrets(m.T, "the table "+table, text)
	}
	m.Logf("%d tables with %d bytes of text", len(tables), all.Len())
	if !strings.Contains(all.String(), "search[whole simple bm25") {
		m.Error("the tables do not tell of the stages: those of the queue were not looked at")
	}
}

// noSecretsInNames looks at the names of all objects of a store.
func noSecretsInNames(t *testing.T, url string) {
	t.Helper()
	bucket, err := shared.OpenBucket(t.Context(), []shared.Driver{s3.Driver()}, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	folders := map[string]int{}
	for o, err := range bucket.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		noSecrets(t, "the name of an object", o.Name)
		folder, _, _ := strings.Cut(o.Name, "/")
		folders[folder]++
	}
	t.Logf("objects in the store: %v", folders)
	if folders["cas"] == 0 || folders["ac"] == 0 {
		t.Error("the store was not looked at")
	}
}

// startS3 runs an S3 server for the test.
func startS3(t *testing.T) *s3test.Server {
	t.Helper()
	// The test's own context ends before its workers do.
	s, err := s3test.Start(context.WithoutCancel(t.Context()))
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

// disturbance is what was done to machines.
type disturbance struct {
	faults int
	last   time.Time // when there was a fault last
	done   int       // how many stages were done then
}

// awaitDone waits until an apply has told of more stages that are done than before, four
// seconds at most; false when the apply has ended.
func (p *program) awaitDone(d *disturbance) bool {
	late := time.NewTimer(4 * time.Second)
	defer late.Stop()
	for {
		if n := strings.Count(p.out.String(), `"type":"apply_complete"`); n > d.done {
			d.done = n
			return true
		}
		select {
		case <-p.out.changed:
		case <-p.ended:
			return false
		case <-late.C:
			return true
		}
	}
}

// disturb runs workers and harms them twenty times, or until the apply has ended. Before
// each time it waits, for some seconds at most, until another stage is done: a machine
// that is short of time is not to be harmed twenty times before it has begun.
func (m *machines) disturb(apply *program) (d disturbance) {
	random := rand.New(rand.NewPCG(1, 2))
	workers := make([]*program, len(m.hosts))
	for i, h := range m.hosts[1:] {
		workers[i+1] = h.worker()
	}
	const every = 1500 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for round := 1; round <= 20; round++ {
		select {
		case <-apply.ended:
			return d
		case <-tick.C:
		}
		if !apply.awaitDone(&d) {
			return d
		}
		tick.Reset(every)
		d.faults++
		switch {
		case round == 4 || round == 12:
			if err := m.restart(); err != nil {
				m.Error(err)
				return d
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
		d.last = time.Now()
	}
	<-apply.ended
	return d
}
