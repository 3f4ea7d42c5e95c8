package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// lan is a network of this test's own: a bridge in a network namespace, and hosts, each
// a namespace with a cable to it. Nothing outside reaches it.
type lan struct {
	*testing.T
	name  string
	hosts int
}

// newLAN makes a network, or skips the test where the system does not let it.
func newLAN(t *testing.T) *lan {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIP-NETNS: network namespaces take root and the program ip")
	}
	l := &lan{T: t, name: fmt.Sprintf("rl%dn%d", os.Getpid(), lans.next())}
	if out, err := exec.Command("ip", "netns", "add", l.name).CombinedOutput(); err != nil {
		t.Skipf("SKIP-NETNS: this system makes no network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() { l.ip("netns", "del", l.name) })
	l.ip("-n", l.name, "link", "set", "lo", "up")
	l.ip("-n", l.name, "link", "add", "bridge", "type", "bridge")
	l.ip("-n", l.name, "addr", "add", lanServer+"/24", "dev", "bridge")
	l.ip("-n", l.name, "link", "set", "bridge", "up")
	return l
}

// lanServer is the address at which servers of the network listen.
const lanServer = "10.99.0.1"

// lans numbers the networks of the process.
var lans counter

type counter struct {
	locked
	n int
}

func (c *counter) next() int {
	c.Lock()
	defer c.Unlock()
	c.n++
	return c.n
}

func (l *lan) ip(args ...string) {
	l.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// host is one machine of a network, with a folder of its own.
type host struct {
	lan         *lan
	netns, port string // namespace, and the bridge's end of its cable
	work        string
	env         []string
}

// host adds a machine. What it keeps is below the folder work.
func (l *lan) host(work string, env ...string) *host {
	l.Helper()
	l.hosts++
	h := &host{lan: l, netns: fmt.Sprintf("%sh%d", l.name, l.hosts), port: fmt.Sprintf("p%d", l.hosts), work: work, env: env}
	l.ip("netns", "add", h.netns)
	l.Cleanup(func() { l.ip("netns", "del", h.netns) })
	l.ip("-n", h.netns, "link", "set", "lo", "up")
	l.ip("-n", h.netns, "link", "add", "eth", "type", "veth", "peer", "name", h.port, "netns", l.name)
	l.ip("-n", h.netns, "addr", "add", fmt.Sprintf("10.99.0.%d/24", 10+l.hosts), "dev", "eth")
	l.ip("-n", h.netns, "link", "set", "eth", "up")
	l.ip("-n", l.name, "link", "set", h.port, "master", "bridge", "up")
	return h
}

// cut pulls the host's cable, and join puts it back.
func (h *host) cut()  { h.lan.ip("-n", h.lan.name, "link", "set", h.port, "down") }
func (h *host) join() { h.lan.ip("-n", h.lan.name, "link", "set", h.port, "up") }

// start runs a program there, in a folder. Killing it kills what runs in the host: ip
// replaces itself by the program.
func (h *host) start(dir string, args ...string) *program {
	path, err := exec.LookPath(args[0])
	if err != nil {
		h.lan.Fatal(err)
	}
	return startProgramIn(append(environ(h.work), h.env...), dir, append([]string{"ip", "netns", "exec", h.netns, path}, args[1:]...)...)
}

// listen listens at the server's address in the network, at a port.
func (l *lan) listen(port int) net.Listener {
	l.Helper()
	type result struct {
		net.Listener
		error
	}
	made := make(chan result)
	go func() {
		// The thread stays in the namespace, and ends with the goroutine.
		runtime.LockOSThread()
		file, err := os.Open(filepath.Join("/var/run/netns", l.name))
		if err != nil {
			made <- result{nil, err}
			return
		}
		defer func() { _ = file.Close() }()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			made <- result{nil, err}
			return
		}
		at, err := net.Listen("tcp", fmt.Sprintf("%s:%d", lanServer, port))
		made <- result{at, err}
	}()
	r := <-made
	if r.error != nil {
		l.Fatal(r.error)
	}
	l.Cleanup(func() { _ = r.Close() })
	return r.Listener
}

// forward hands each connection at a port of the network to what dial reaches outside.
func (l *lan) forward(port int, dial func(context.Context) (net.Conn, error)) {
	l.Helper()
	at := l.listen(port)
	var wg sync.WaitGroup
	// The test's own context ends before what still uses the connections.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(l.Context()))
	l.Cleanup(func() {
		_ = at.Close()
		cancel(net.ErrClosed)
		wg.Wait()
	})
	wg.Go(func() {
		for {
			near, err := at.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					l.Error(err)
				}
				return
			}
			wg.Go(func() { join(ctx, near, dial) })
		}
	})
}

// join copies both ways until one side ends.
func join(ctx context.Context, near net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer func() { _ = near.Close() }()
	far, err := dial(ctx)
	if err != nil {
		return // as a server that is not there
	}
	over := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer over()
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = way[0].Close(), way[1].Close()
		})
	}
	wg.Wait()
}
