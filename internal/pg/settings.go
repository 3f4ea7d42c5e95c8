package pg

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// executor is a connection or a transaction.
type executor interface {
	querier
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// apply applies settings to a session, or until a transaction ends, and returns
// them as the server has them. Those of an extension are unknown, and taken
// whatever they are, until the session has loaded its library; reading a vector
// loads it.
func apply(ctx context.Context, on executor, settings map[string]string, local bool) (map[string]string, error) {
	if _, err := on.Exec(ctx, "select '[0]'::vector"); err != nil {
		return nil, err
	}
	applied := make(map[string]string, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if _, err := on.Exec(ctx, "select set_config($1, $2, $3)", name, settings[name], local); err != nil {
			return nil, fmt.Errorf("set %s to %q: %w", name, settings[name], err)
		}
		value, err := known(ctx, on, name)
		if err != nil {
			return nil, err
		}
		applied[name] = value
	}
	return applied, nil
}

// known returns the value of a setting that the server knows. One that it does not
// know, as one with a slip in its name, has a value too but changes nothing.
func known(ctx context.Context, on executor, name string) (string, error) {
	var value *string
	err := on.QueryRow(ctx, "select (select current_setting(name) from pg_settings where name = lower($1))", name).Scan(&value)
	if err == nil && value == nil {
		err = fmt.Errorf("the server knows no setting %q", name)
	}
	if err != nil {
		return "", err
	}
	return *value, nil
}
