package shared_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

const secret = "S3CRET"

func TestRedact(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"s3://bucket/team":                           "s3://bucket/team",
		"s3://me:S3CRET@bucket/team":                 "s3://bucket/team",
		"s3://S3CRET@bucket":                         "s3://bucket",
		"azblob://c?sig=S3CRET&sv=2020":              "azblob://c?…",
		"s3://b/p?endpoint=http://u:S3CRET@host:900": "s3://b/p?…",
		"file:///mnt/Спільна тека":                   "file:///mnt/Спільна тека",
		"S3CRET":                                     "(no URL)",
		"://S3CRET":                                  "(no URL)",
		"s3://bucket/%zzS3CRET":                      "(no URL)",
	} {
		if got := shared.Redact(raw); got != want || strings.Contains(got, secret) {
			t.Errorf("%q is shown as %q, want %q", raw, got, want)
		}
	}
}

// TestOpenBucket_showsNoSecrets gives addresses and drivers that hold one.
func TestOpenBucket_showsNoSecrets(t *testing.T) {
	t.Parallel()
	driver := shared.Driver{
		Scheme: "mem", Example: "mem://NAME", Query: []string{"region"},
		Open: func(_ context.Context, u *url.URL) (shared.Bucket, error) {
			if u.Host == "fails" {
				return nil, errors.New(`Get "https://me:S3CRET@host/path?sig=S3CRET": no such host`)
			}
			return new(sharedtest.Memory), nil
		},
	}
	for raw, want := range map[string]string{
		"mem://good?region=x":       "",
		"mem://good":                "",
		"mem://me:S3CRET@good":      "holds no user and no password",
		"mem://good?sig=S3CRET":     `knows no parameter "sig"`,
		"mem://good#S3CRET":         "no part behind #",
		"other://me:S3CRET@x":       "this raglab opens mem://NAME",
		"mem://good?region=%zS3CRE": "cannot be read",
		"%zzS3CRET":                 "is no URL",
		"mem://fails":               "no such host",
	} {
		_, err := shared.OpenBucket(t.Context(), []shared.Driver{driver}, raw)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "S3CRE") {
			t.Errorf("%s: the error shows the secret: %v", raw, err)
		}
	}
}

// TestStore_errorsShowNoSecrets: what a driver quotes of a request is not passed on.
func TestStore_errorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	quoted := `Put "https://account.example.org/container/cas?sv=2020&sig=S3CRET": connection reset`
	for _, fault := range []error{errors.New(quoted), errors.Join(shared.ErrPermanent, errors.New(quoted))} {
		b := &sharedtest.Faulty{Bucket: new(sharedtest.Memory), Before: func(sharedtest.Op, string) error { return fault }}
		s := open(t, b, shared.Options{Mode: shared.Write, Name: "azblob://container?sig=S3CRET"})
		_, getErr := s.Get(t.Context(), cache.Key{1})
		_, statErr := s.Stat(t.Context(), cache.Digest{1})
		_, createErr := s.Create(t.Context())
		for _, err := range []error{getErr, statErr, createErr, s.Check(t.Context())} {
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "connection reset") {
				t.Errorf("%v", err)
			}
		}
	}
}
