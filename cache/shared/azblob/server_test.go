package azblob

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"raglab/cache/shared"
	"raglab/cache/shared/azblob/azblobtest"
	"raglab/cache/shared/cloud/cloudtest"
)

// real is Azurite.
var real = &azblobtest.Server{}

func TestMain(m *testing.M) {
	for _, v := range azblobtest.Environ() {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	os.Exit(cloudtest.Main(m, func(ctx context.Context) (func(), error) {
		started, err := azblobtest.Start(ctx)
		if err != nil {
			return nil, err
		}
		real = started
		return started.Stop, nil
	}))
}

func newStore(t testing.TB, server string) string {
	t.Helper()
	name, err := real.Container(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return azblobtest.StoreURL(name, server)
}

func TestAzblob_server(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, cloudtest.Provider{
		Driver: func(string) shared.Driver { return Driver() }, Server: func() string { return real.URL }, NewStore: newStore,
		NoBucket:     func(server string) string { return azblobtest.StoreURL("no-such-container", server) },
		Secrets:      []string{azblobtest.Key},
		Uploads:      func(r *http.Request) bool { return r.URL.Query().Get("comp") == "block" },
		LosesAnswers: true,
	})
}
