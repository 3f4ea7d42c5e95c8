package pg

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Index describes an index table to build.
type Index struct {
	// Key is the content key of the index stage, 64 hexadecimal digits.
	Key string
	// Kind names the implementation.
	Kind string
	// Definition is what follows the table's name in create table, as in
	// (id integer not null, embedding vector(384) not null).
	Definition string
	// Params are written to the manifest as JSON.
	Params any
	// Settings hold while the table is built, as maintenance_work_mem. The manifest
	// gets them as the server has them.
	Settings map[string]string
}

// Building is a table in the making.
type Building struct {
	// Tx is the transaction that makes the table; it must not be ended. The manifest
	// counts the rows that the methods put in, not what is done here.
	Tx pgx.Tx
	// Table is the table's quoted name with its schema, Name the name alone, to be
	// the beginning of the names of indexes.
	Table, Name string
	table       pgx.Identifier
	rows        int64 // that were put in
}

// sendBuffer is how much may be on its way to a server on the same machine. What a
// Unix socket takes is little by default, and a writer is woken only when three
// quarters of it have been read: the server would wait for rows between.
const sendBuffer = 1 << 20

// CopyBinary copies rows that are in Postgres's binary form already, with its header
// and its end, and returns how many they were. They are frozen: the first to read
// them need not write down that they are valid.
func (b *Building) CopyBinary(ctx context.Context, columns []string, rows io.Reader) (int64, error) {
	conn := b.Tx.Conn().PgConn()
	if local, ok := conn.Conn().(*net.UnixConn); ok {
		_ = local.SetWriteBuffer(sendBuffer) // it goes without
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = pgx.Identifier{c}.Sanitize()
	}
	tag, err := conn.CopyFrom(ctx, rows, fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze)", b.Table, strings.Join(quoted, ", ")))
	b.rows += tag.RowsAffected()
	return tag.RowsAffected(), err
}

// Exec runs a statement in the transaction.
func (b *Building) Exec(ctx context.Context, sql string, args ...any) error {
	tag, err := b.Tx.Exec(ctx, sql, args...)
	if tag.Insert() {
		b.rows += tag.RowsAffected()
	}
	return err
}

// Build makes an index table, unless it is there, and returns its manifest and
// whether it was made now. All of it is one transaction: fill copies the rows and
// builds the indexes, and the manifest is written with the last step. When anything
// fails, or raglab or the server dies, nothing of it is seen, then or later. Of
// several that build the same table at once one does, and the others wait and get
// its manifest. A table that is there but not as its manifest says is made anew.
func (db *DB) Build(ctx context.Context, ix Index, fill func(ctx context.Context, b *Building) error) (Manifest, bool, error) {
	op := "build the index table of " + short(ix.Key)
	table, err := db.Table(ix.Key)
	if err != nil {
		return Manifest{}, false, err
	}
	var m Manifest
	var built bool
	err = pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if err := lockKey(ctx, tx, ix.Key); err != nil {
			return err
		}
		found, err := db.stands(ctx, tx, ix.Key)
		if err != nil || found != nil {
			if found != nil {
				m = *found
			}
			return err
		}
		b := &Building{Tx: tx, Table: table.Sanitize(), Name: table[1], table: table}
		m, err = db.build(ctx, b, ix, fill)
		built = err == nil
		return err
	})
	if err != nil {
		return Manifest{}, false, db.wrap(ctx, op, err)
	}
	return m, built, nil
}

// build is Build within its transaction, once the table is known to be missing.
func (db *DB) build(ctx context.Context, b *Building, ix Index, fill func(context.Context, *Building) error) (Manifest, error) {
	settings, err := apply(ctx, b.Tx, ix.Settings, true)
	if err != nil {
		return Manifest{}, err
	}
	if err := db.remove(ctx, b.Tx, ix.Key); err != nil {
		return Manifest{}, err
	}
	if err := b.Exec(ctx, "create table "+b.Table+" "+ix.Definition); err != nil {
		return Manifest{}, err
	}
	if err := b.Exec(ctx, "alter table "+b.Table+" set ("+untouched+")"); err != nil {
		return Manifest{}, err
	}
	if err := fill(ctx, b); err != nil {
		return Manifest{}, err
	}
	if err := b.Exec(ctx, "analyze "+b.Table); err != nil {
		return Manifest{}, err
	}
	m := Manifest{Key: ix.Key, Table: b.Name, Kind: ix.Kind, Rows: b.rows, BuildSettings: settings, RaglabVersion: db.version}
	sizes, err := db.sizes(ctx, b.Tx, b.Name)
	if err != nil {
		return Manifest{}, err
	}
	m.HeapBytes, m.IndexBytes = sizes.Heap, sizes.Index
	return m, db.record(ctx, b.Tx, &m, ix.Params)
}

// untouched keeps vacuum from giving back the room at a table's end that COPY
// left: a table that is never written to again needs none of its work, and is
// known by its size.
const untouched = "autovacuum_enabled = off, vacuum_truncate = off, toast.autovacuum_enabled = off, toast.vacuum_truncate = off"

// record writes the manifest, and reads back what the server makes of it.
func (db *DB) record(ctx context.Context, tx pgx.Tx, m *Manifest, params any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the parameters: %w", err)
	}
	settings, err := json.Marshal(m.BuildSettings)
	if err != nil {
		return fmt.Errorf("encode the settings: %w", err)
	}
	// As texts: through a pooler the driver does not know the columns' types.
	return tx.QueryRow(ctx, `
		insert into `+db.manifests()+` (key, table_name, kind, rows, params, build_settings, heap_bytes, index_bytes, raglab_version)
		values ($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb, $7, $8, $9) returning created_at, params`,
		m.Key, m.Table, m.Kind, m.Rows, string(encoded), string(settings), m.HeapBytes, m.IndexBytes, m.RaglabVersion).
		Scan(&m.CreatedAt, &m.Params)
}

// stands returns the manifest of a key whose table is as it was built, else nil.
func (db *DB) stands(ctx context.Context, tx pgx.Tx, key string) (*Manifest, error) {
	found, err := db.find(ctx, tx, []string{key})
	if err != nil {
		return nil, err
	}
	if f, ok := found[key]; ok && f.Problem == "" {
		return &f.Manifest, nil
	}
	return nil, nil
}

// lockKey takes the lock of a key until the transaction ends.
func lockKey(ctx context.Context, tx pgx.Tx, key string) error {
	sum, err := hex.DecodeString(key[:16])
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(binary.BigEndian.Uint64(sum)))
	return err
}

// remove drops the table of a key and its manifest, whichever there is.
func (db *DB) remove(ctx context.Context, tx pgx.Tx, key string) error {
	table, err := db.Table(key)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "drop table if exists "+table.Sanitize()); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "delete from "+db.manifests()+" where key = $1", key)
	return err
}

// Drop drops the tables of the keys and their manifests; what is not there is no
// error. Each key is a transaction of its own, so that a failure leaves the others
// as they are.
func (db *DB) Drop(ctx context.Context, keys []string) error {
	var errs []error
	for _, key := range keys {
		if _, err := TableName(key); err != nil {
			return err
		}
		err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			if err := lockKey(ctx, tx, key); err != nil {
				return err
			}
			return db.remove(ctx, tx, key)
		})
		errs = append(errs, db.wrap(ctx, "drop the index table of "+short(key), err))
	}
	return errors.Join(errs...)
}

// Clean drops index tables that have no manifest, and manifests whose table is
// gone, and returns the names of the tables. No build that is under way is among
// them: its table is seen by nobody else.
func (db *DB) Clean(ctx context.Context) ([]string, error) {
	var names []string
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
			where n.nspname = $1 and c.relkind = 'r' and c.relname ~ $2
				and not exists (select from `+db.manifests()+` m where m.table_name = c.relname)
			order by 1`, db.schema, "^"+tablePrefix+"[0-9a-f]{40}$")
		if err != nil {
			return err
		}
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := tx.Exec(ctx, "drop table "+pgx.Identifier{db.schema, name}.Sanitize()); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `delete from `+db.manifests()+` m
			where to_regclass(format('%I.%I', $1::text, m.table_name)) is null`, db.schema)
		return err
	})
	return names, db.wrap(ctx, "clean up index tables", err)
}

// DropSchema drops all index tables and then raglab's schema, if it is there. The
// DB is of no use after that.
func (db *DB) DropSchema(ctx context.Context) error {
	list, err := db.List(ctx)
	if err != nil && !errors.Is(err, ErrNoTable) {
		return err
	}
	// One by one: a single statement would need a lock for each of the tables.
	keys := make([]string, len(list))
	for i, m := range list {
		keys[i] = m.Key
	}
	if err := db.Drop(ctx, keys); err != nil {
		return err
	}
	_, err = db.pool.Exec(ctx, "drop schema if exists "+pgx.Identifier{db.schema}.Sanitize()+" cascade")
	return db.wrap(ctx, "drop the schema "+db.schema, err)
}

// short is the beginning of a key, for people.
func short(key string) string { return key[:min(12, len(key))] }
