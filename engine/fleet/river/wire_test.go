package river_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raglab/engine/fleet/river"
	"raglab/internal/pg"
)

// wire is the network between a worker and Postgres, with a connection of its own to the
// server for each that the worker makes. The test can damage it.
type wire struct {
	t      testing.TB
	db     *pg.DB // goes round it
	listen net.Listener
	all    sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	// now is what happens to connections that are made.
	now state
	// changed is closed when a state changes.
	changed chan struct{}
}

// state is how a wire, or a link of it, is.
type state int

const (
	whole  state = iota
	deaf         // what the server says does not arrive
	silent       // nothing arrives, and nobody is told
	broken       // closed
)

// link is a connection through a wire.
type link struct {
	near, far net.Conn
	// Guarded by the wire: how it is, the server's process at its end, and what the server
	// has said until that is known.
	is      state
	backend int
	head    []byte
}

// hear takes what the server says first, to learn which process of it that is.
func (l *link) hear(said []byte) {
	if l.backend != 0 {
		return
	}
	l.head = append(l.head, said...)
	for len(l.head) >= 9 {
		length := 1 + int(binary.BigEndian.Uint32(l.head[1:]))
		if l.head[0] == 'K' {
			l.backend, l.head = int(binary.BigEndian.Uint32(l.head[5:])), nil
			return
		}
		if len(l.head) < length {
			return
		}
		l.head = l.head[length:]
	}
}

// newWire lays a wire to the server of db; it is gone when the test ends.
func newWire(t testing.TB, db *pg.DB) *wire {
	t.Helper()
	listen, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, db: db, listen: listen, links: map[*link]struct{}{}, changed: make(chan struct{})}
	w.all.Go(w.accept)
	t.Cleanup(func() {
		listen.Close()
		w.put(broken)
		w.all.Wait()
	})
	return w
}

// connect returns the schema of the wire's db as it is seen through the wire.
func (w *wire) connect() *pg.DB {
	w.t.Helper()
	c := w.db.Pool().Config().ConnConfig
	db, err := pg.Connect(w.t.Context(), pg.Config{
		DSN: pg.DSN(fmt.Sprintf("host=127.0.0.1 port=%d user='%s' password='%s' dbname='%s' sslmode=disable",
			w.listen.Addr().(*net.TCPAddr).Port, c.User, c.Password, c.Database)),
		Schema: w.db.Schema(), Version: "test",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(db.Close)
	return db
}

func (w *wire) accept() {
	for {
		near, err := w.listen.Accept()
		if err != nil {
			return
		}
		w.all.Go(func() { w.serve(near) })
	}
}

// serve carries one connection until an end closes it or it is broken.
func (w *wire) serve(near net.Conn) {
	defer near.Close()
	c := w.db.Pool().Config().ConnConfig
	network, address := pgconn.NetworkAddress(c.Host, c.Port)
	far, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer far.Close()
	w.mu.Lock()
	l := &link{near: near, far: far, is: w.now}
	w.links[l] = struct{}{}
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.carry(l, near, far, deaf) })
	both.Go(func() { w.carry(l, far, near, whole) })
	both.Wait()
	w.mu.Lock()
	delete(w.links, l)
	w.mu.Unlock()
}

// carry carries what one end says, while the link is no worse than it bears.
func (w *wire) carry(l *link, from, to net.Conn, bears state) {
	defer func() {
		from.Close()
		to.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if from == l.far {
			w.mu.Lock()
			l.hear(buf[:n])
			w.mu.Unlock()
		}
		if !w.await(l, bears) {
			return
		}
		if _, wrong := to.Write(buf[:n]); err != nil || wrong != nil {
			return
		}
	}
}

// await waits until a link is no worse than a state, and reports false when it is broken.
func (w *wire) await(l *link, bears state) bool {
	for {
		w.mu.Lock()
		is, changed := l.is, w.changed
		w.mu.Unlock()
		switch {
		case is == broken:
			return false
		case is <= bears:
			return true
		}
		<-changed
	}
}

// put brings links, without any all and those to come, into a state.
func (w *wire) put(is state, links ...*link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(links) == 0 {
		w.now = is
		for l := range w.links {
			links = append(links, l)
		}
	}
	for _, l := range links {
		l.is = is
		if is == broken {
			l.near.Close()
			l.far.Close()
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// next says what happens to connections that are made from now on.
func (w *wire) next(is state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = is
}

// forgetAtServer ends what the server has of the links, as it does itself when a network
// was cut for long enough.
func (w *wire) forgetAtServer(links ...*link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range links {
		if tcp, ok := l.far.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		l.far.Close()
	}
}

// session is the link of a worker's session, pool the others.
func (w *wire) session(q *river.Queue) (session *link) {
	w.t.Helper()
	session, _ = w.tell(q)
	return session
}

// pool is all links but that of a worker's session.
func (w *wire) pool(q *river.Queue) (pool []*link) {
	w.t.Helper()
	_, pool = w.tell(q)
	return pool
}

// holder is SQL for the process of the server that has the lock of a worker's session.
const holder = `(select l.pid from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
	and l.database = (select oid from pg_database where datname = current_database())
	and (l.classid::bigint << 32 | l.objid::bigint) = $1)`

func (w *wire) tell(q *river.Queue) (session *link, pool []*link) {
	w.t.Helper()
	backend := ask[int](w.t, w.db, `select `+holder, q.LockID())
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		if l.backend == backend {
			session = l
		} else {
			pool = append(pool, l)
		}
	}
	if session == nil {
		w.t.Fatal("the session does not go through the wire")
	}
	return session, pool
}
