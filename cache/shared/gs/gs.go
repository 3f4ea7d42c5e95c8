// Package gs opens buckets of Google Cloud Storage as a store.
package gs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud"
)

// Driver opens gs://BUCKET/PREFIX with Google's application default credentials
// (GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, a machine's service account). STORAGE_EMULATOR_HOST
// names another server, which is asked without any.
func Driver() shared.Driver {
	return shared.Driver{Scheme: gcsblob.Scheme, Example: "gs://BUCKET/PREFIX", Open: open}
}

func open(ctx context.Context, u *url.URL) (shared.Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("it must be gs://BUCKET or gs://BUCKET/PREFIX")
	}
	client, err := newClient(ctx)
	if err != nil {
		return nil, err
	}
	b, err := gcsblob.OpenBucket(ctx, client, u.Host, nil)
	if err != nil {
		return nil, err
	}
	return cloud.New(b, u, judge), nil
}

// newClient is not gcsblob's own, which goes on without credentials and says so on standard output.
func newClient(ctx context.Context) (*gcp.HTTPClient, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), nil
	}
	creds, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("find Google's application default credentials: %w", err)
	}
	return gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(creds))
}

// judge reads the status: gcsblob takes "no access" for "not there".
func judge(err error) error {
	var api *googleapi.Error
	if !errors.As(err, &api) {
		return nil
	}
	if api.Code == http.StatusRequestedRangeNotSatisfiable {
		return cloud.ErrPassing // the object is shorter than it was
	}
	return cloud.ByStatus(api.Code)
}
