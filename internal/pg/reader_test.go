package pg_test

import (
	"strings"
	"testing"

	"raglab/internal/pg"
)

func TestDSN_Place(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:S3CRET@db.example.org/kb":            "db.example.org:5432/kb",
		"host=db.example.org port=6000 user=u dbname=kb":   "db.example.org:6000/kb",
		"postgres://other:PASS@db.example.org:6000/kb?a=b": "db.example.org:6000/kb",
	} {
		if got, err := pg.DSN(dsn).Place(); err != nil || got != want {
			t.Errorf("place %q, %v, want %q", got, err, want)
		}
	}
	if _, err := pg.DSN("postgres://u:S3CRET@h:x/d").Place(); err == nil || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("error %v", err)
	}
}
