package gs

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud/cloudtest"
	"raglab/cache/shared/gs/gstest"
)

// real is fake-gcs-server, in its own process: see gstest for what it does as Cloud Storage does. What
// it cannot show is in this package's other tests: that a refused precondition of any upload is told
// from other refusals, and what becomes of credentials.
var real = &gstest.Server{}

func TestMain(m *testing.M) {
	// Nothing here may reach for the machine's own credentials.
	os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", os.DevNull)
	os.Unsetenv("STORAGE_EMULATOR_HOST")
	os.Exit(cloudtest.Main(m, func(ctx context.Context) (func(), error) {
		started, err := gstest.Start(ctx)
		if err != nil {
			return nil, err
		}
		real = started
		return started.Stop, nil
	}))
}

func driverAt(server string) shared.Driver { return driver(func() string { return server }) }

func newStore(t testing.TB, _ string) string {
	t.Helper()
	name, err := real.Bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return gstest.StoreURL(name)
}

func TestGS_server(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, cloudtest.Provider{
		Driver: driverAt, Server: func() string { return real.URL }, NewStore: newStore,
		NoBucket: func(string) string { return gstest.StoreURL("no-such-bucket") },
		Uploads: func(r *http.Request) bool {
			return strings.HasPrefix(r.Header.Get("Content-Range"), "bytes ") && r.URL.Query().Has("upload_id")
		},
	})
}
