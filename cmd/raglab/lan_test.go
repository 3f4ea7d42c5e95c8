package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"maps"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// lanWay forces what the hosts of tests are.
var lanWay = flag.String("lan", "", "make the hosts of tests as `namespaces` or as processes; default: namespaces where the system makes them")

// lan is a network of a test's own: servers, and hosts that reach them and that can be
// cut off.
type lan interface {
	// String says what it is made of.
	String() string
	// serve lets the hosts reach a service at a port of the server, through what dial
	// connects to. It must be called before there are hosts.
	serve(port int, dial dialFunc)
	// attach lays a cable to the next host.
	attach() cable
}

type dialFunc func(context.Context) (net.Conn, error)

// cable joins a host to a lan.
type cable struct {
	// reach is the address at which the host finds the service of a port.
	reach func(port int) string
	// inside is what a command line begins with that runs on the host.
	inside []string
	// within calls a function on a thread of the host.
	within func(func())
	// cut pulls the cable: no byte passes, and neither side is told. join puts it back.
	cut, join func()
}

// newLAN makes a network of namespaces or, where the system makes none or the flag -lan
// says so, of processes.
func newLAN(t *testing.T) lan {
	t.Helper()
	var l lan
	switch *lanWay {
	case "", "namespaces":
		var why error
		if l, why = newNamespaces(t); why != nil && *lanWay != "" {
			t.Fatal(why)
		} else if why != nil {
			t.Logf("no hosts of network namespaces: %v", why)
			l = &loopback{T: t}
		}
	case "processes":
		l = &loopback{T: t}
	default:
		t.Fatalf("-lan is namespaces or processes, not %q", *lanWay)
	}
	t.Logf("the hosts are %s", l)
	return l
}

// host is one machine of a network, with a folder of its own.
type host struct {
	*testing.T
	cable
	work string
	env  []string
}

// start runs a program there, in a folder.
func (h *host) start(dir string, args ...string) *program {
	h.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		h.Fatal(err)
	}
	line := append(slices.Clone(h.inside), path)
	return startProgramIn(append(environ(h.work), h.env...), dir, append(line, args[1:]...)...)
}

// cutAfter is after how long of silence a server's system ends the connections of a host
// that was cut off: what raglab asks of Postgres for the session that stands for a worker.
const cutAfter = 4 * time.Second

// loopback is a lan whose hosts are processes of this machine. Each reaches a service
// through a forwarder of its own, which goes silent when the host is cut off.
type loopback struct {
	*testing.T
	services map[int]dialFunc
}

func (*loopback) String() string { return "processes, each behind forwarders of its own" }

func (l *loopback) serve(port int, dial dialFunc) {
	if l.services == nil {
		l.services = map[int]dialFunc{}
	}
	l.services[port] = dial
}

func (l *loopback) attach() cable {
	l.Helper()
	v := newValve()
	at := map[int]string{}
	for port, dial := range l.services {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			l.Fatal(err)
		}
		forward(l.T, listener, dial, v)
		at[port] = listener.Addr().String()
	}
	return cable{reach: func(port int) string { return at[port] }, within: func(f func()) { f() }, cut: v.shut, join: v.open}
}

// forward hands each connection at a listener to what dial reaches, until the test ends.
// While the valve is shut it holds all of them, and takes no other.
func forward(t *testing.T, at net.Listener, dial dialFunc, v *valve) {
	var wg sync.WaitGroup
	// The test's own context ends before what still uses the connections.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		_ = at.Close()
		cancel(net.ErrClosed)
		wg.Wait()
	})
	wg.Go(func() {
		for {
			near, err := at.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			wg.Go(func() { carry(ctx, near, dial, v) })
		}
	})
}

// carry copies both ways until one side ends.
func carry(ctx context.Context, near net.Conn, dial dialFunc, v *valve) {
	defer func() { _ = near.Close() }()
	if !v.pass(ctx) {
		return
	}
	far, err := dial(ctx)
	if err != nil {
		return // as a server that is not there
	}
	defer v.through(far)()
	over := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer over()
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			_, _ = io.Copy(&gated{ctx, v, way[0]}, way[1])
			v.pass(ctx) // the end of a connection is news, too
			_, _ = way[0].Close(), way[1].Close()
		})
	}
	wg.Wait()
}

// gated writes once the valve is open.
type gated struct {
	ctx context.Context
	v   *valve
	to  io.Writer
}

func (g *gated) Write(p []byte) (int, error) {
	if !g.v.pass(g.ctx) {
		return 0, context.Cause(g.ctx)
	}
	return g.to.Write(p)
}

// valve lets pass what goes to and from a host, or holds it. The nil valve is open.
type valve struct {
	locked
	opened chan struct{} // closed while it is open
	silent *time.Timer   // since it was shut
	far    map[net.Conn]struct{}
}

func newValve() *valve {
	v := &valve{opened: make(chan struct{}), far: map[net.Conn]struct{}{}}
	close(v.opened)
	return v
}

// pass waits until the valve is open; false when ctx ends before.
func (v *valve) pass(ctx context.Context) bool {
	if v == nil {
		return ctx.Err() == nil
	}
	v.Lock()
	opened := v.opened
	v.Unlock()
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	}
}

// through notes a connection to a server that goes through the valve; done forgets it.
func (v *valve) through(far net.Conn) (done func()) {
	if v == nil {
		return func() { _ = far.Close() }
	}
	v.Lock()
	defer v.Unlock()
	v.far[far] = struct{}{}
	return func() {
		_ = far.Close()
		v.Lock()
		defer v.Unlock()
		delete(v.far, far)
	}
}

// shut holds everything from now on. The system of a real server would find by its
// keepalives that the host is silent; here the forwarder's end answers them, so that it
// ends the server's side itself when their time has passed.
func (v *valve) shut() {
	v.Lock()
	defer v.Unlock()
	v.opened = make(chan struct{})
	v.silent = time.AfterFunc(cutAfter, func() {
		v.Lock()
		ended := slices.Collect(maps.Keys(v.far))
		v.Unlock()
		for _, far := range ended {
			_ = far.Close()
		}
	})
}

// open lets everything pass again.
func (v *valve) open() {
	v.Lock()
	defer v.Unlock()
	v.silent.Stop()
	close(v.opened)
}

// TestLAN_cut cuts a host off: nothing passes, the server finds out, and after the host
// has joined again it reaches the server.
func TestLAN_cut(t *testing.T) {
	t.Parallel()
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		testCut(t, &loopback{T: t})
	})
	t.Run("namespaces", func(t *testing.T) {
		t.Parallel()
		l, why := newNamespaces(t)
		if why != nil {
			t.Skipf("SKIP-NETNS: %v", why)
		}
		testCut(t, l)
	})
}

func testCut(t *testing.T, l lan) {
	const port = 7
	heard := make(chan string, 2) // all that the server heard on a connection, at its end
	l.serve(port, func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			var all bytes.Buffer
			_, _ = io.Copy(far, io.TeeReader(far, &all)) // until the connection ends
			_ = far.Close()
			heard <- all.String()
		}()
		return near, nil
	})
	c := l.attach()
	call := func() (conn net.Conn) {
		var err error
		c.within(func() { conn, err = net.DialTimeout("tcp", c.reach(port), time.Minute) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	echo := func(conn net.Conn, text string) {
		t.Helper()
		got := make([]byte, len(text))
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, err := conn.Write([]byte(text))
		if err == nil {
			_, err = io.ReadFull(conn, got)
		}
		if err != nil || string(got) != text {
			t.Fatalf("%q came back as %q: %v", text, got, err)
		}
	}
	conn := call()
	echo(conn, "one")
	c.cut()
	if _, err := conn.Write([]byte("two")); err != nil {
		t.Fatalf("the host was told: %v", err)
	}
	select {
	case all := <-heard:
		if all != "one" {
			t.Errorf("the server heard %q", all)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not find out")
	}
	c.join()
	echo(call(), "three")
}
