// Package s3 opens buckets of Amazon S3, and of servers that speak its protocol, as a store. The server
// must honour If-None-Match on PutObject and CompleteMultipartUpload.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob/s3blob"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud"
)

// Driver opens s3://BUCKET/PREFIX. Credentials and region come from the AWS SDK's environment:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_REGION, an instance's or a pod's role.
// endpoint is another server's URL, which most want with use_path_style=true.
func Driver() shared.Driver {
	return shared.Driver{
		Scheme: s3blob.Scheme, Example: "s3://BUCKET/PREFIX",
		Query: []string{"endpoint", "region", "profile", pathStyleParam, "anonymous", "request_checksum_calculation", "response_checksum_validation"},
		Open:  open,
	}
}

func open(ctx context.Context, u *url.URL) (shared.Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("it must be s3://BUCKET or s3://BUCKET/PREFIX")
	}
	if e, err := url.Parse(u.Query().Get("endpoint")); err != nil || e.User != nil || e.RawQuery != "" {
		return nil, errors.New("its endpoint must be a plain URL: credentials come from the environment")
	}
	client, cfg, err := newClient(ctx, u.Query())
	if err != nil {
		return nil, err
	}
	b, err := s3blob.OpenBucket(ctx, client, u.Host, &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
	if err != nil {
		return nil, err
	}
	return cloud.New(b, u, cloud.Provider{Judge: judge}), nil
}

// newClient is not s3blob's own: the SDK's writes to standard error, and checks sums of downloads that
// are checked against their digest in any case.
func newClient(ctx context.Context, query url.Values) (*s3.Client, aws.Config, error) {
	pathStyle := query.Get(pathStyleParam)
	query.Del(pathStyleParam)
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, query)
	if err != nil {
		return nil, cfg, err
	}
	cfg.Logger = logging.Nop{}
	// For the parts of an upload: a request that fails as a whole is the store's to make again.
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.RateLimiter, o.MaxBackoff = ratelimit.None, longestBackoff
		})
	}
	if !query.Has("response_checksum_validation") {
		cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = pathStyle == "true" }), cfg, nil
}

const (
	pathStyleParam = "use_path_style"
	// longestBackoff is the SDK's wait between its three attempts at most.
	longestBackoff = time.Second
)

// judge knows the codes that say more than a status does.
func judge(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "NoSuchBucket":
			return fmt.Errorf("%w: there is no such bucket", shared.ErrPermanent)
		case "NoSuchUpload", "RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch", "InternalError", "SlowDown":
			return cloud.ErrPassing
		}
	}
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return nil
	}
	if response.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable {
		return cloud.ErrPassing // the object is shorter than it was
	}
	return cloud.ByStatus(response.HTTPStatusCode())
}
