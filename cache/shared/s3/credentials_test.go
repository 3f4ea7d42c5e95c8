package s3

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/cloud/cloudtest"
	"raglab/cache/shared/s3/s3test"
)

// TestS3_wrongKey asks with a key that is not the server's: it will not pass, and does not show. It sets
// the environment, so it is not parallel.
func TestS3_wrongKey(t *testing.T) {
	cloudtest.Need(t)
	raw := newStore(t, real.URL)
	const wrong = "a-wrong-secret-of-another-user"
	for _, tt := range []struct{ variable, value string }{
		{"AWS_SECRET_ACCESS_KEY", wrong},
		{"AWS_ACCESS_KEY_ID", "another-user"},
	} {
		t.Run(tt.variable, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			s, err := shared.Open(t.Context(), []shared.Driver{Driver()}, raw, shared.Options{
				Mode: shared.Write, Pause: func(int) time.Duration { return time.Millisecond },
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Get(t.Context(), cache.Key{1})
			if !errors.Is(err, shared.ErrPermanent) || errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("%v, want shared.ErrPermanent", err)
			}
			for _, secret := range []string{wrong, s3test.SecretKey, s3test.AccessKey} {
				if strings.Contains(fmt.Sprint(err), secret) {
					t.Errorf("the error shows %q: %v", secret, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
