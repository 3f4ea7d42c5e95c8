// Package gs opens buckets of Google Cloud Storage as a store.
package gs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud"
)

// Driver opens gs://BUCKET/PREFIX with Google's application default credentials
// (GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, a machine's service account). STORAGE_EMULATOR_HOST
// names another server, which is asked without any.
func Driver() shared.Driver {
	return driver(func() string { return os.Getenv("STORAGE_EMULATOR_HOST") })
}

// driver opens buckets of the server that emulator returns, or of Google's when it returns none.
func driver(emulator func() string) shared.Driver {
	return shared.Driver{
		Scheme: gcsblob.Scheme, Example: "gs://BUCKET/PREFIX",
		Open: func(ctx context.Context, u *url.URL) (shared.Bucket, error) { return open(ctx, u, emulator()) },
	}
}

func open(ctx context.Context, u *url.URL, emulator string) (shared.Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("it must be gs://BUCKET or gs://BUCKET/PREFIX")
	}
	client, err := newClient(ctx, emulator)
	if err != nil {
		return nil, err
	}
	b, err := gcsblob.OpenBucket(ctx, nil, u.Host, &gcsblob.Options{Client: client})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &bucket{cloud.New(b, u, cloud.Provider{Judge: judge, Say: say, BeforeWrite: beforeWrite}), client}, nil
}

// bucket owns the client, which gcsblob does not close.
type bucket struct {
	shared.Bucket
	client *storage.Client
}

// Close implements [shared.Bucket].
func (b *bucket) Close() error { return errors.Join(b.Bucket.Close(), b.client.Close()) }

// newClient is not gcsblob's own, which goes on without credentials and says so on standard output.
// The client of Google's library tries a request until its context ends: trying again is the store's.
func newClient(ctx context.Context, emulator string) (*storage.Client, error) {
	options, err := clientOptions(ctx, emulator)
	if err != nil {
		return nil, err
	}
	client, err := storage.NewClient(ctx, options...)
	if err != nil {
		return nil, err
	}
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	return client, nil
}

func clientOptions(ctx context.Context, emulator string) ([]option.ClientOption, error) {
	if emulator != "" {
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		return []option.ClientOption{
			option.WithEndpoint(strings.TrimSuffix(emulator, "/") + "/storage/v1/"), option.WithoutAuthentication(),
			option.WithHTTPClient(&http.Client{Transport: gcp.DefaultTransport()}),
		}, nil
	}
	creds, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("find Google's application default credentials: %w", err)
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(creds))
	if err != nil {
		return nil, err
	}
	return []option.ClientOption{option.WithHTTPClient(&client.Client)}, nil
}

// chunkDeadline is for how long the client tries to send one part of an upload, so that a long one
// survives what lasts a moment.
const chunkDeadline = 10 * time.Second

func beforeWrite(as func(any) bool) error {
	var w *storage.Writer
	if as(&w) {
		w.ChunkRetryDeadline = chunkDeadline
	}
	return nil
}

// judge reads the status: gcsblob takes "no access" for "not there". Who gives out tokens may refuse,
// too, before Cloud Storage is asked.
func judge(err error) error {
	var token *oauth2.RetrieveError
	if errors.As(err, &token) && token.Response != nil {
		if word := cloud.ByStatus(token.Response.StatusCode); errors.Is(word, cloud.ErrPassing) {
			return word
		}
		return fmt.Errorf("%w: no access (credentials come from the environment)", shared.ErrPermanent)
	}
	var api *googleapi.Error
	if !errors.As(err, &api) {
		return nil
	}
	if api.Code == http.StatusRequestedRangeNotSatisfiable {
		return cloud.ErrPassing // the object is shorter than it was
	}
	return cloud.ByStatus(api.Code)
}

// say leaves out an answer's body, which may be a page, and what a request for a token may quote.
func say(err error) string {
	var token *oauth2.RetrieveError
	var api *googleapi.Error
	switch {
	case errors.As(err, &token) && token.Response != nil:
		return strings.TrimSpace(fmt.Sprintf("ask for a token: %s %s", token.Response.Status, token.ErrorCode))
	case errors.As(err, &api):
		return strings.TrimSpace(fmt.Sprintf("Cloud Storage answered %d %s", api.Code, api.Message))
	}
	return ""
}
