package pg_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// secret is a password with all that needs quoting in one form or the other.
const secret = `S3cr3t/p@ss:w0rd'%\ é`

// fragments are parts of it that must not show either.
var fragments = []string{"S3cr3t", "w0rd", "p@ss", "p%40ss"}

func requireNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, f := range fragments {
		if strings.Contains(text, f) {
			t.Errorf("%s shows %q:\n%s", what, f, text)
		}
	}
}

// dsns returns a server's address with the password in each form.
func dsns(host string, port int) map[string]pg.DSN {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(secret)
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("raglab", secret), Host: fmt.Sprintf("%s:%d", host, port),
		Path: "/raglab", RawQuery: "sslmode=disable&connect_timeout=5",
	}
	q := u
	q.User = url.User("raglab")
	q.RawQuery += "&password=" + strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")
	return map[string]pg.DSN{
		"URL":            pg.DSN(u.String()),
		"URL's query":    pg.DSN(q.String()),
		"list":           pg.DSN(fmt.Sprintf("host=%s port=%d user=raglab password='%s' dbname=raglab sslmode=disable", host, port, quoted)),
		"list, unquoted": pg.DSN(fmt.Sprintf("host=%s port=%d user=raglab password = %s dbname=raglab sslmode=disable", host, port, strings.ReplaceAll(quoted, " ", `\ `))),
	}
}

func TestDSN_neverPrinted(t *testing.T) {
	t.Parallel()
	for name, dsn := range dsns("db.example", 5432) {
		c := pg.Config{DSN: dsn}
		data, err := json.Marshal(struct{ DSN pg.DSN }{dsn})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			fmt.Sprint(dsn), fmt.Sprintf("%s %q %v %x %d", dsn, dsn, dsn, dsn, dsn), fmt.Sprintf("%#v", dsn),
			fmt.Sprintf("%v", c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", &c), string(data),
		} {
			requireNoSecret(t, name, text)
		}
		plain, err := dsn.WithoutSecrets()
		if err != nil || !strings.Contains(plain, "db.example") || strings.Contains(plain, "password") {
			t.Errorf("%s: %s, %v", name, plain, err)
		}
		requireNoSecret(t, name, plain)
	}
}

func TestConnect_errorsHaveNoPassword(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	for name, dsn := range dsns("127.0.0.1", port) {
		for _, c := range []pg.Config{
			{DSN: dsn, Getenv: func(string) string { return "" }},
			{Getenv: func(string) string { return string(dsn) }},
		} {
			_, err := pg.Connect(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("%s: %v", name, err)
			}
			requireNoSecret(t, name, fmt.Sprintf("%v %+v %#v", err, err, err))
		}
	}
	malformed := []string{
		"postgres://raglab:" + secret + "@127.0.0.1/raglab", "postgres://raglab:S3cr3t w0rd", "postgres://S3cr3t@w0rd:p@ss/x?y",
		"host=127.0.0.1 password=" + secret, "host=127.0.0.1 password='" + secret, "password S3cr3t", "S3cr3t",
		"host=127.0.0.1 port=S3cr3t", "postgres://raglab:x@127.0.0.1:S3cr3t/y", "host=127.0.0.1 sslmode=S3cr3t",
	}
	for _, text := range malformed {
		_, err := pg.Connect(t.Context(), pg.Config{DSN: pg.DSN(text)})
		if err == nil || !strings.Contains(err.Error(), "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE") &&
			!strings.Contains(err.Error(), "connect to Postgres") {
			t.Errorf("%s: %v", text, err)
		}
		requireNoSecret(t, text, fmt.Sprintf("%v %+v", err, err))
	}
}

func TestConnect_wrongPasswordIsNotRepeated(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t)
	server.NoSocket = true
	db, err := pg.Connect(t.Context(), pg.Config{Getenv: func(string) string { return "" }, Private: &server})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.Server()
	for name, dsn := range dsns(s.Host, int(s.Port)) {
		c := pg.Config{DSN: dsn, Getenv: func(string) string { return "" }}
		_, err := pg.Connect(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "password authentication failed") {
			t.Errorf("%s: %v", name, err)
		}
		requireNoSecret(t, name, fmt.Sprintf("%v %+v", err, err))
	}
	// What others say is not to be trusted either.
	run(t, db, "create role other login password '"+strings.ReplaceAll(secret, "'", "''")+"'")
	_, err = db.Pool().Exec(t.Context(), "do $$ begin raise 'postgres://u:S3cr3t@host/ and password=S3cr3t w' ; end $$")
	requireNoSecret(t, "a message of the server", db.Explain(t.Context(), "try", err).Error())
}

func TestConnect_order(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		if name == "RAGLAB_DSN" {
			return "host=127.0.0.1 port=2 connect_timeout=5"
		}
		return ""
	}
	tests := map[string]struct {
		config pg.Config
		want   string
	}{
		"spec before environment": {pg.Config{DSN: "host=127.0.0.1 port=1 connect_timeout=5", Getenv: env}, "127.0.0.1:1"},
		"environment":             {pg.Config{Getenv: env}, "127.0.0.1:2"},
		"nothing":                 {pg.Config{Getenv: func(string) string { return "" }}, "set dsn in the store block or RAGLAB_DSN"},
	}
	for name, test := range tests {
		if _, err := pg.Connect(t.Context(), test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPsql_passwordIsNoArgument(t *testing.T) {
	t.Parallel()
	for name, dsn := range dsns("127.0.0.1", 1) {
		cmd, err := pg.Psql(t.Context(), pg.Config{DSN: dsn}, "", "-c", "select 1")
		if err != nil {
			if strings.Contains(err.Error(), "client programs") {
				pgtest.Skip(t, "SKIP-PSQL: no psql on this machine")
			}
			t.Fatal(err)
		}
		requireNoSecret(t, name, strings.Join(cmd.Args, "\n"))
		if last := cmd.Env[len(cmd.Env)-1]; last != "PGPASSWORD="+secret {
			t.Errorf("%s: psql is not given the password", name)
		}
	}
}

func FuzzDSN_noErrorShowsThePassword(f *testing.F) {
	for _, seed := range []string{
		"postgres://u:%s@h:1/d", "postgresql://u:%s@h:x/d", "host=h password=%s port=x", "host=h password='%s' sslmode=x",
		"postgres://h/d?password=%s&sslmode=x", "%s", "postgres://%s", "host=h port='%s", "service=%s", "passfile=%s sslcert=%s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, shape string) {
		const password = "S3cr3tw0rd"
		dsn := pg.DSN(strings.ReplaceAll(shape, "%s", password))
		if _, err := dsn.Parse(); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", shape, err)
		}
		// Where the driver takes it for the password, and it is nothing else too, it
		// is gone from what other programs are given.
		plain, err := dsn.WithoutSecrets()
		if err == nil && strings.Count(shape, "%s") == 1 && dsn.ParsesPassword(password) && strings.Contains(plain, password) {
			t.Errorf("%q becomes %q", shape, plain)
		}
	})
}
