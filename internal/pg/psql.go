package pg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Psql prepares a command that opens the server that the configuration names in
// psql, with the spec's or the environment's DSN. The password is not among the
// arguments, which others can see. Program is psql's path, empty for the one that
// the system finds. For the private server use the lease's own. The caller connects
// the command's standard streams.
func Psql(ctx context.Context, c Config, program string, args ...string) (*exec.Cmd, error) {
	dsn, from := c.source()
	if from == FromPrivate {
		return nil, fmt.Errorf("run psql: no DSN is named")
	}
	config, err := dsn.parse(from)
	if err != nil {
		return nil, err
	}
	address, err := dsn.withoutSecrets()
	if err != nil {
		return nil, fmt.Errorf("run psql: %s is no address that psql takes", from)
	}
	if program == "" {
		if program, err = exec.LookPath("psql"); err != nil {
			return nil, fmt.Errorf("run psql: %w: install Postgres's client programs", err)
		}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--dbname", address}, args...)...)
	cmd.Env = os.Environ()
	if config.Password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+config.Password)
	}
	return cmd, nil
}
