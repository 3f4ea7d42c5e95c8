//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// crashed tells whether the server that last used the data folder did not end in
// order.
func (l layout) crashed(ctx context.Context) (bool, error) {
	out, err := l.command(ctx, "pg_controldata", "-D", l.data()).CombinedOutput()
	if err != nil {
		return false, programError("pg_controldata", err, string(out))
	}
	for line := range strings.Lines(string(out)) {
		if state, ok := strings.CutPrefix(line, "Database cluster state:"); ok {
			return strings.TrimSpace(state) != "shut down", nil
		}
	}
	return false, errors.New("pg_controldata does not tell the state of the database cluster")
}

// orphans lists the files of the current database that belong to no relation.
const orphans = `
	select 'base/' || d.oid || '/' || f.name, (pg_stat_file('base/' || d.oid || '/' || f.name)).size
	from pg_database d, pg_ls_dir('base/' || d.oid) as f (name)
	where d.datname = current_database() and f.name ~ '^[0-9]+([._].*)?$'
		and not exists (
			select from pg_class c where pg_relation_filenode(c.oid) = substring(f.name from '^[0-9]+')::oid)`

// sweep removes the files of tables whose transaction was open when a server
// crashed: Postgres forgets these tables but not their files, and an index build
// that was cut off can leave a gigabyte. It asks a server that nobody else can
// reach, so that no table can be in the making.
func (s *supervisor) sweep(ctx context.Context, l layout, password string) error {
	server, err := s.launch(ctx, l, password, true)
	if err != nil {
		return err
	}
	files, size, err := server.orphans(ctx)
	if stopErr := server.stop(); err == nil && stopErr != nil {
		err = fmt.Errorf("stop the server after its recovery: %w", stopErr)
	}
	for _, name := range files {
		if err == nil {
			err = os.Remove(filepath.Join(l.data(), filepath.FromSlash(name)))
		}
	}
	if err != nil {
		return fmt.Errorf("remove what a crash left: %w", err)
	}
	s.say("recovered from a crash; removed %d files of unfinished tables, %d bytes", len(files), size)
	return nil
}

// orphans returns the files and their size. A database that is not there yet has
// none.
func (p *postmaster) orphans(ctx context.Context) (files []string, size int64, err error) {
	config, err := p.endpoint.Config(Database)
	if err != nil {
		return nil, 0, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "checkpoint"); err != nil {
		return nil, 0, err
	}
	rows, err := conn.Query(ctx, orphans)
	if err != nil {
		return nil, 0, err
	}
	var name string
	var bytes int64
	_, err = pgx.ForEachRow(rows, []any{&name, &bytes}, func() error {
		files, size = append(files, name), size+bytes
		return nil
	})
	return files, size, err
}
