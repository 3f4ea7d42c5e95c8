package pg_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// TestUnaccent_leavesCyrillicAlone shows why the text kind unaccent is not
// Postgres's own extension: its rules know Latin and Greek letters, and of
// Cyrillic only Ё and ё.
func TestUnaccent_leavesCyrillicAlone(t *testing.T) {
	t.Parallel()
	conn := withContrib(t)
	for text, want := range map[string]string{
		"йод і їжак, ґанок, Київ, Європа": "йод і їжак, ґанок, Київ, Європа",
		"об’єкт м'яч комп՚ютер":           "об'єкт м'яч комп՚ютер",
		"ЇЙҐ":        "ЇЙҐ",
		"café Ñandú": "cafe Nandu",
		"ёж":         "еж",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "select unaccent($1)", text).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("unaccent(%q) = %q, want %q", text, got, want)
		}
	}
}

// withContrib connects to a server of the test's own that has the extensions that
// come with Postgres's sources. The bundle has none; Debian's package has them.
func withContrib(t *testing.T) *pgx.Conn {
	t.Helper()
	c := pgtest.Debian(t)
	lease, err := private.Acquire(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	endpoint, err := lease.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := endpoint.Config(private.Database)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if _, err := conn.Exec(t.Context(), "create extension unaccent"); err != nil {
		t.Fatal(err)
	}
	return conn
}
