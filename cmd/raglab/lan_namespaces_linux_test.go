package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// namespaces is a lan of network namespaces: a bridge in one, and hosts, each a namespace
// with a cable to it. Nothing outside reaches it.
type namespaces struct {
	*testing.T
	name  string
	hosts int
}

// newNamespaces makes a network, unless the system does not let it.
func newNamespaces(t *testing.T) (lan, error) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil, errors.New("network namespaces take root and the program ip")
	}
	l := &namespaces{T: t, name: fmt.Sprintf("rl%dn%d", os.Getpid(), lans.next())}
	if out, err := exec.Command("ip", "netns", "add", l.name).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("this system makes no network namespace: %w: %s", err, out)
	}
	t.Cleanup(func() { l.ip("netns", "del", l.name) })
	// Some systems let one make the namespace and nothing in it.
	if out, err := exec.Command("ip", "-n", l.name, "link", "add", "bridge", "type", "bridge").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("this system makes no bridge: %w: %s", err, out)
	}
	l.ip("-n", l.name, "link", "set", "lo", "up")
	l.ip("-n", l.name, "addr", "add", lanServer+"/24", "dev", "bridge")
	l.ip("-n", l.name, "link", "set", "bridge", "up")
	return l, nil
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

func (l *namespaces) ip(args ...string) {
	l.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (*namespaces) String() string { return "network namespaces" }

// attach makes a host. Killing what ip starts kills what runs in the host: ip replaces
// itself by the program.
func (l *namespaces) attach() cable {
	l.Helper()
	l.hosts++
	netns, port := fmt.Sprintf("%sh%d", l.name, l.hosts), fmt.Sprintf("p%d", l.hosts)
	l.ip("netns", "add", netns)
	l.Cleanup(func() { l.ip("netns", "del", netns) })
	l.ip("-n", netns, "link", "set", "lo", "up")
	l.ip("-n", netns, "link", "add", "eth", "type", "veth", "peer", "name", port, "netns", l.name)
	l.ip("-n", netns, "addr", "add", fmt.Sprintf("10.99.0.%d/24", 10+l.hosts), "dev", "eth")
	l.ip("-n", netns, "link", "set", "eth", "up")
	l.ip("-n", l.name, "link", "set", port, "master", "bridge", "up")
	return cable{
		reach:  func(port int) string { return fmt.Sprintf("%s:%d", lanServer, port) },
		inside: []string{"ip", "netns", "exec", netns},
		within: func(f func()) { within(l.T, netns, f) },
		cut:    func() { l.ip("-n", l.name, "link", "set", port, "down") },
		join:   func() { l.ip("-n", l.name, "link", "set", port, "up") },
	}
}

// serve forwards a port of the network to what dial reaches outside.
func (l *namespaces) serve(port int, dial dialFunc) {
	l.Helper()
	var at net.Listener
	var err error
	within(l.T, l.name, func() { at, err = l.listen(port) })
	if err != nil {
		l.Fatal(err)
	}
	forward(l.T, at, dial, nil)
}

// within calls a function on a thread in a namespace.
func within(t *testing.T, netns string, f func()) {
	t.Helper()
	entered := make(chan error)
	go func() {
		// The thread stays in the namespace, and ends with the goroutine.
		runtime.LockOSThread()
		file, err := os.Open(filepath.Join("/var/run/netns", netns))
		if err == nil {
			err = errors.Join(unix.Setns(int(file.Fd()), unix.CLONE_NEWNET), file.Close())
		}
		if err == nil {
			f()
		}
		entered <- err
	}()
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
}

// listen listens at the server's address. The system finds out when a host is silent, as
// that of a server on TCP would.
func (l *namespaces) listen(port int) (net.Listener, error) {
	config := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: cutAfter / 4, Interval: cutAfter / 4, Count: 3},
		// What is accepted has the options of the listener.
		Control: func(_, _ string, c syscall.RawConn) (err error) {
			controlErr := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(cutAfter/time.Millisecond))
			})
			return errors.Join(controlErr, err)
		},
	}
	config.SetMultipathTCP(false) // whose sockets have no such option on older systems
	return config.Listen(context.WithoutCancel(l.Context()), "tcp", fmt.Sprintf("%s:%d", lanServer, port))
}
