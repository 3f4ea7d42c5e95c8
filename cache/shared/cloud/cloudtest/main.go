package cloudtest

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
)

// missing says why the server of this test binary did not start.
var missing string

// Main runs a test binary's tests with a server that start starts, and which stop ends; TestMain passes
// its result to os.Exit. In continuous integration, where the variable CI is set, a server that does
// not start is a failure; elsewhere the tests that [Need] it are skipped.
func Main(m *testing.M, start func(ctx context.Context) (stop func(), err error)) int {
	log.SetOutput(io.Discard) // what clients and proxies have to say
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop, err := start(ctx)
	if err != nil {
		missing = "the server of the tests did not start: " + err.Error()
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, missing)
			return 1
		}
		return m.Run()
	}
	defer stop()
	return m.Run()
}

// Need skips a test when the server of [Main] did not start.
func Need(t testing.TB) {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
}
