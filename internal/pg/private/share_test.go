//go:build unix

package private_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

func TestAcquire_twentyProcessesGetOneServer(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.IdleAfter = 200 * time.Millisecond
	children := make([]*child, 20)
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() { children[i] = startChild(t, c) })
	}
	wg.Wait()
	status := look(t, c)
	for _, ch := range children {
		if ch.server != status.Server {
			t.Errorf("a process got server %d, the one that runs is %d", ch.server, status.Server)
		}
	}
	log, err := os.ReadFile(status.Log)
	if n := strings.Count(string(log), "ready to accept connections"); err != nil || n != 1 {
		t.Errorf("the server was started %d times, %v", n, err)
	}
	// One that stays is enough to keep the server.
	for _, ch := range children[1:] {
		ch.end()
	}
	if s := look(t, c); s.Server != status.Server || !s.InUse {
		t.Errorf("after 19 of 20 ended: %+v", s)
	}
	children[0].end()
	gone(t, status.Server, status.Supervisor)
	s, err := private.Look(c)
	if err != nil || s.Running || s.InUse {
		t.Errorf("when idle: %+v, %v", s, err)
	}
}

func TestAcquire_stoppedServerKeepsItsData(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	query(t, l, "with x as (select 1) select count(*)::text from x")
	conn := connect(t, l)
	if _, err := conn.Exec(t.Context(), "create extension vector; create table kept as select '[1,2]'::vector v"); err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	first := look(t, c)
	if _, err := private.Stop(t.Context(), c, false); !errors.Is(err, private.ErrInUse) {
		t.Errorf("stopping a server in use: %v", err)
	}
	l.Release()
	if stopped, err := private.Stop(t.Context(), c, false); err != nil || !stopped {
		t.Fatalf("stop: %v, %v", stopped, err)
	}
	gone(t, first.Server, first.Supervisor)
	if stopped, err := private.Stop(t.Context(), c, false); err != nil || stopped {
		t.Errorf("stopping twice: %v, %v", stopped, err)
	}
	again := acquire(t, c)
	if got := query(t, again, "select v::text from kept"); got != "[1,2]" {
		t.Errorf("got %s", got)
	}
	if log, err := os.ReadFile(first.Log); err != nil || strings.Contains(string(log), "recovery") {
		t.Errorf("the stop was not in order, %v", err)
	}
}

func TestAcquire_runsUnprivilegedWithTheStatedSettings(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	status := look(t, c)
	if uid := owner(t, status.Server); uid == 0 || (os.Geteuid() != 0 && uid != os.Geteuid()) {
		t.Errorf("the server runs as user %d", uid)
	}
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"wal_level": "minimal", "jit": "off", "listen_addresses": "", "timezone": "UTC",
		"default_text_search_config": "pg_catalog.simple", "server_encoding": "UTF8",
	} {
		if got := query(t, l, "show "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if got := query(t, l, "select lower('ЇЖАК') || upper('ґава')"); got != "їжакҐАВА" {
		t.Errorf("case folds to %q", got)
	}
	e, err := l.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(e.Host)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder: %v, %v", info, err)
	}
	if e.Password != "" {
		t.Error("a password where none is needed")
	}
}

func TestAcquire_longPathHasShortSocket(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.Dir = filepath.Join(c.Dir, strings.Repeat("a-long-name/", 12))
	if err := os.MkdirAll(c.Dir, 0o711); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, c)
	e, err := l.Endpoint(t.Context())
	if err != nil || len(e.Host) > 90 {
		t.Errorf("the socket is in %s, %v", e.Host, err)
	}
	l.Release()
	if err := private.Drop(t.Context(), c, false); err != nil {
		t.Error(err)
	}
	os.RemoveAll(e.Host)
}

func TestAcquire_withoutSocketsAsksForAPassword(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.NoSocket = true
	l := acquire(t, c)
	e, err := l.Endpoint(t.Context())
	if err != nil || e.Host != "127.0.0.1" || len(e.Password) < 20 {
		t.Fatalf("the server is at %s, port %d, %v", e.Host, e.Port, err)
	}
	if got := query(t, l, "select inet_server_addr()::text"); got != "127.0.0.1/32" {
		t.Errorf("listens at %s", got)
	}
	info, err := os.Stat(filepath.Join(c.Dir, "password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the password's file: %v, %v", info, err)
	}
	psql, err := l.Psql(t.Context(), "-XAtc", "select 1 + 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range psql.Args {
		if strings.Contains(arg, e.Password) {
			t.Error("the password shows in psql's arguments")
		}
	}
	if out, err := psql.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "2" {
		t.Errorf("psql says %q, %v", out, err)
	}
	e.Password = "wrong"
	config, err := e.Config(private.Database)
	if err != nil {
		t.Fatal(err)
	}
	if err := refused(t, config); !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestDrop_leavesNothing(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	status := look(t, c)
	if status.Bytes == 0 {
		t.Error("the data takes nothing")
	}
	if err := private.Drop(t.Context(), c, false); !errors.Is(err, private.ErrInUse) {
		t.Errorf("dropping a server in use: %v", err)
	}
	l.Release()
	if err := private.Drop(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	gone(t, status.Server, status.Supervisor)
	entries, err := os.ReadDir(c.Dir)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() > 0 || info.IsDir() {
			t.Errorf("left %s", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := private.Drop(t.Context(), c, false); err != nil {
		t.Errorf("dropping twice: %v", err)
	}
}
