package gs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/shared"
)

// keyFile writes a service account's credentials, whose tokens come from a URL. The private key is none
// that anybody has.
func keyFile(t *testing.T, tokens string) (path, secret string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "raglab@example.org", "private_key_id": "key-id", "private_key": private, "token_uri": tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, strings.Split(private, "\n")[1]
}

// TestGS_token asks with credentials that are not given a token: a key that is refused will not pass, a
// service that is away may. It sets the environment, so it is not parallel.
func TestGS_token(t *testing.T) {
	for _, tt := range []struct {
		status      int
		unavailable bool
	}{
		{http.StatusBadRequest, false}, // as Google answers for a key that was deleted
		{http.StatusUnauthorized, false},
		{http.StatusServiceUnavailable, true},
	} {
		tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tt.status)
			fmt.Fprintf(w, `{"error": "invalid_grant", "error_description": %q}`, r.FormValue("assertion"))
		}))
		path, secret := keyFile(t, tokens.URL)
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
		s, err := shared.Open(t.Context(), []shared.Driver{Driver()}, "gs://bucket/team", shared.Options{
			Mode: shared.Write, Pause: func(int) time.Duration { return time.Millisecond },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), cache.Key{1})
		if errors.Is(err, cache.ErrUnavailable) != tt.unavailable || errors.Is(err, shared.ErrPermanent) == tt.unavailable {
			t.Errorf("%d: %v", tt.status, err)
		}
		if text := fmt.Sprint(err); strings.Contains(text, secret) || strings.Contains(text, "eyJ") {
			t.Errorf("%d: the error shows a key, or what it signed: %v", tt.status, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		tokens.Close()
	}
}

// TestGS_noCredentials names what is missing, and where it was looked for.
func TestGS_noCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, []byte(`{"type": "service_account", "private_key": "S3CRET`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	_, err := shared.OpenBucket(t.Context(), []shared.Driver{Driver()}, "gs://bucket/team")
	if err == nil || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("a file that is no credentials: %v", err)
	}
}
