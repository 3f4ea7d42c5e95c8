package private_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// A folder that only root may pass holds a link: the account could not reach data
// there.
func TestAccount_closedFolderHasItsDataElsewhere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIP-ROOT: only root's server runs as another account")
	}
	c := pgtest.Private(t)
	c.AccountDir = filepath.Join(c.Dir, "accounts")
	closed := filepath.Join(c.Dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Dir = filepath.Join(closed, "postgres")
	c.Account = "nobody"
	l := acquire(t, c)
	query(t, l, "select 'there'")
	status := look(t, c)
	if !strings.HasPrefix(status.Data, c.AccountDir+"/postgres-") || status.Account != "nobody" {
		t.Errorf("data in %s, account %s", status.Data, status.Account)
	}
	home := filepath.Dir(status.Data)
	if to, err := os.Readlink(filepath.Join(c.Dir, "server")); err != nil || to != home {
		t.Errorf("the link leads to %s, %v", to, err)
	}
	l.Release()
	if err := private.Drop(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("dropping left %s, %v", home, err)
	}
	gone(t, status.Server, status.Supervisor)
}

func TestAccount_thatIsNone(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIP-ROOT: only root's server runs as another account")
	}
	c := pgtest.Private(t)
	c.Account = "no-such-account"
	_, err := private.Acquire(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "no-such-account") || !strings.Contains(err.Error(), "useradd") {
		t.Errorf("%v", err)
	}
}
