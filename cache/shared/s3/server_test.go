package s3

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud/cloudtest"
	"raglab/cache/shared/s3/s3test"
)

// real is versitygw.
var real = &s3test.Server{}

func TestMain(m *testing.M) {
	for _, v := range s3test.Environ() {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	os.Exit(cloudtest.Main(m, func(ctx context.Context) (func(), error) {
		started, err := s3test.Start(ctx)
		if err != nil {
			return nil, err
		}
		real = started
		return started.Stop, nil
	}))
}

func newStore(t testing.TB, server string) string {
	t.Helper()
	name, err := real.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	return s3test.StoreURL(name, server)
}

func TestS3_server(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, cloudtest.Provider{
		Driver: func(string) shared.Driver { return Driver() }, Server: func() string { return real.URL }, NewStore: newStore,
		NoBucket:     func(server string) string { return s3test.StoreURL("no-such-bucket", server) },
		Secrets:      []string{s3test.AccessKey, s3test.SecretKey},
		Uploads:      func(r *http.Request) bool { return r.URL.Query().Has("partNumber") },
		LosesAnswers: true,
	})
}
