package private

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Config returns what connects to a database of the server, whatever the variables
// that Postgres's programs read (PGHOST, PGSSLMODE, …) say.
func (e Endpoint) Config(database string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable target_session_attrs=any",
		e.Port, Role, database))
	if err != nil {
		return nil, errors.New("connect to the private Postgres: the variables PGSERVICE, PGPASSFILE or others that begin with PG do not fit together")
	}
	e.Apply(config)
	config.Database, config.User = database, Role
	config.RuntimeParams = map[string]string{}
	return config, nil
}

// Apply makes a configuration lead to the endpoint.
func (e Endpoint) Apply(config *pgx.ConnConfig) {
	config.Host, config.Port, config.Password = e.Host, e.Port, e.Password
	config.TLSConfig, config.Fallbacks = nil, nil
}
