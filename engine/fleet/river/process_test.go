package river_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// envWorker makes the test binary a worker: it holds its job as JSON.
const envWorker = "RAGLAB_TEST_RIVER_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(envWorker); text != "" && !private.IsSupervisor(os.Args) {
		os.Exit(workAsProcess(text))
	}
	os.Exit(pgtest.Main(m))
}

// shiftJob says what a worker process does.
type shiftJob struct {
	Name    string
	Private *private.Config
	DSN     string
	Schema  string
	Slots   int
	// Sleep is how long each stage takes.
	Sleep time.Duration
	// JobTimeout and RescueAfter are River's bounds; 0 is as by default.
	JobTimeout, RescueAfter time.Duration
}

// workAsProcess claims and finishes nodes until its input ends, and writes a line for
// each that it began and each that it finished.
func workAsProcess(text string) int {
	var job shiftJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancelCause(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop(errors.New("the test has enough"))
	}()
	if err := job.work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (job shiftJob) work(ctx context.Context) error {
	db, err := pg.Connect(ctx, pg.Config{
		DSN: pg.DSN(job.DSN), Private: job.Private, Schema: job.Schema, Version: "test", Getenv: func(string) string { return "" },
	})
	if err != nil {
		return err
	}
	defer db.Close()
	q, err := river.Open(ctx, river.Options{
		DB: db, Name: job.Name, Slots: map[fleet.Class]int{fleet.CPU: job.Slots}, Backups: fleet.Backups{Off: true},
		JobTimeout: job.JobTimeout, RescueStuckJobsAfter: job.RescueAfter,
		Log: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn}),
	})
	if err != nil {
		return err
	}
	var lines sync.Mutex
	say := func(what string, c *fleet.Claim) {
		lines.Lock()
		defer lines.Unlock()
		fmt.Printf("%s %s %d\n", what, c.Address, time.Now().UnixMicro())
	}
	fmt.Println("ready")
	var all sync.WaitGroup
	for range job.Slots {
		all.Go(func() {
			for {
				c, err := q.Claim(ctx, fleet.Offer{Classes: []fleet.Class{fleet.CPU}})
				if err != nil {
					return
				}
				say("begin", c)
				select {
				case <-time.After(job.Sleep):
				case <-q.Lost(c):
					say("lost", c)
					continue
				}
				switch err := q.Finish(context.WithoutCancel(ctx), c, resultOf(c.Address)); {
				case err == nil:
					say("end", c)
				case errors.Is(err, fleet.ErrClaimLost):
					say("lost", c)
				default:
					fmt.Fprintln(os.Stderr, "finish:", err)
				}
			}
		})
	}
	all.Wait()
	return q.Close(context.WithoutCancel(ctx))
}

// resultOf is what a node comes to.
func resultOf(address string) fleet.Result {
	d := cache.DigestOf([]byte(address))
	return fleet.Result{
		Made:       engine.Made{Key: cache.Key(d), Outputs: []cache.Blob{{Name: "out", Digest: d, Size: 1}}},
		Completion: engine.Executed, Wall: time.Millisecond,
	}
}

// process is a worker of a process of its own.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{}
	done  chan struct{}
	said  *said
}

// said gathers what workers write.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

// finished counts the stages that were finished.
func (s *said) finished() (n int) {
	for _, c := range s.count("end") {
		n += c
	}
	return n
}

// count is how often each line's first word stands with each address.
func (s *said) count(what string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, line := range s.lines {
		if f := strings.Fields(line); f[0] == what {
			n[f[1]]++
		}
	}
	return n
}

func startWorker(t testing.TB, s *said, job shiftJob) *process {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, said: s, ready: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envWorker+"="+string(text))
	p.cmd.Stderr = t.Output()
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if lines.Text() == "ready" {
				close(p.ready)
				continue
			}
			s.add(lines.Text())
		}
		_ = p.cmd.Wait() // how it ended is seen by what it did
	}()
	t.Cleanup(p.stop)
	return p
}

// awaitReady waits until the worker takes part.
func (p *process) awaitReady() {
	p.t.Helper()
	select {
	case <-p.ready:
	case <-p.done:
		p.t.Fatal("the worker ended before it began")
	case <-time.After(time.Minute):
		p.t.Fatal("the worker does not begin")
	}
}

// stop lets a worker finish what it has and leave.
func (p *process) stop() {
	p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended just now
	<-p.done
}

// layers is a submission of nodes in layers, each of which needs two of the layer
// before.
func layers(count, wide int) fleet.Submission {
	nodes := make([]fleet.Node, count)
	for i := range nodes {
		address := fmt.Sprintf("stage%d", i)
		nodes[i] = fleet.Node{
			Key: cache.Key(cache.DigestOf([]byte(address))), Address: address, Kind: "sleep", Version: "1", Class: fleet.CPU,
			Priority: 1 + i%4, Single: true, Reason: engine.Reason{Kind: engine.ReasonNew},
		}
		if i >= wide {
			nodes[i].Needs = append(nodes[i].Needs, nodes[i-wide].Key)
			if wide > 1 {
				nodes[i].Needs = append(nodes[i].Needs, nodes[i-wide-i%wide+(i+1)%wide].Key)
			}
		}
	}
	return fleet.Submission{
		Experiment: "layers", Graph: cache.DigestOf(fmt.Append(nil, count, wide)), By: "test", Planned: time.Now(),
		Attempts: 3, Deaths: 5, Nodes: nodes,
	}
}

// await follows a run to its end.
func await(t testing.TB, q *river.Queue, run fleet.RunID) (all []fleet.Notice) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Minute, errors.New("the run does not end"))
	defer cancel()
	var news fleet.News
	for !news.Ended {
		var err error
		if news, err = q.Follow(ctx, run, news.Cursor); err != nil {
			t.Fatalf("follow: %v, after %d notices", err, len(all))
		}
		all = append(all, news.Notices...)
	}
	return all
}

// kinds counts notices by their types.
func kinds(all []fleet.Notice) map[engine.EventType]int {
	n := map[engine.EventType]int{}
	for _, one := range all {
		n[one.Type]++
	}
	return n
}

// Processes that work on one graph begin each node once, and none is taken for gone.
func TestProcesses_eachNodeOnce(t *testing.T) {
	t.Parallel()
	const nodes, workers = 3000, 3
	c := pgtest.Config(t)
	q, job := atSchema(t, c, shiftJob{Slots: 8, Sleep: 5 * time.Millisecond})
	var s said
	for i := range workers {
		job.Name = fmt.Sprint("worker", i)
		startWorker(t, &s, job).awaitReady()
	}
	began := time.Now()
	run, err := q.Submit(t.Context(), layers(nodes, 100))
	if err != nil {
		t.Fatal(err)
	}
	submitted := time.Since(began)
	all := await(t, q, run)
	t.Logf("%d nodes by %d processes of 8 slots: submitted in %v, done in %v", nodes, workers, submitted, time.Since(began))
	if got := kinds(all); got[engine.EventComplete] != nodes || len(got) != 1 {
		t.Errorf("notices %v, want %d complete and nothing else", got, nodes)
	}
	begun := s.count("begin")
	for address, n := range begun {
		if n != 1 {
			t.Errorf("%s was begun %d times", address, n)
		}
	}
	if len(begun) != nodes {
		t.Errorf("%d nodes were begun, want %d", len(begun), nodes)
	}
}

// atSchema opens the queue of a configuration's schema, and says how worker processes
// get there.
func atSchema(t testing.TB, c pg.Config, job shiftJob) (*river.Queue, shiftJob) {
	t.Helper()
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.DropSchema(context.Background()); err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
		db.Close()
	})
	job.Private, job.DSN, job.Schema = c.Private, string(c.DSN), c.Schema
	return openAlone(t, db), job
}

// What a killed process had is in the queue again within 5 seconds, counted as a death.
func TestProcesses_killed(t *testing.T) {
	t.Parallel()
	q, job := atSchema(t, pgtest.Config(t), shiftJob{Slots: 4, Sleep: 300 * time.Millisecond})
	var s said
	job.Name = "survivor"
	startWorker(t, &s, job).awaitReady()
	const nodes, kills = 200, 3
	run, err := q.Submit(t.Context(), layers(nodes, 40))
	if err != nil {
		t.Fatal(err)
	}
	var killed []time.Time
	for i := range kills {
		job.Name = fmt.Sprint("victim", i)
		p := startWorker(t, &s, job)
		p.awaitReady()
		time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
		<-p.done
		killed = append(killed, time.Now())
	}
	all := await(t, q, run)
	got := kinds(all)
	if got[engine.EventComplete] != nodes || got[engine.EventErrored]+got[engine.EventBlocked] != 0 {
		t.Errorf("notices %v, want %d complete and none failed", got, nodes)
	}
	if got[engine.EventRetry] == 0 || got[engine.EventRetry] > 4*kills {
		t.Errorf("%d nodes were begun again, want at most those of %d workers of 4 slots", got[engine.EventRetry], kills)
	}
	for _, n := range all {
		if n.Type != engine.EventRetry {
			continue
		}
		var victim int
		if _, err := fmt.Sscanf(n.Worker, "victim%d", &victim); err != nil {
			t.Fatalf("%s was taken for gone", n.Worker)
		}
		if after := n.Time.Sub(killed[victim]); after > 5*time.Second {
			t.Errorf("what %s had was queued again after %v, want 5 s", n.Worker, after)
		} else {
			t.Logf("what %s had was queued again after %v", n.Worker, after)
		}
	}
	ends := s.count("end")
	for address, n := range ends {
		if n != 1 {
			t.Errorf("%s was finished %d times", address, n)
		}
	}
}
