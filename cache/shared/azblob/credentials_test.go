package azblob

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/cache/shared/azblob/azblobtest"
	"raglab/cache/shared/cloud"
	"raglab/cache/shared/cloud/cloudtest"
)

// signed is a shared access signature for a container until a time.
func signed(t *testing.T, container string, until time.Time) string {
	t.Helper()
	key, err := azblob.NewSharedKeyCredential(azblobtest.Account, azblobtest.Key)
	if err != nil {
		t.Fatal(err)
	}
	q, err := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: until, ContainerName: container,
		Permissions: (&sas.ContainerPermissions{Read: true, List: true, Create: true, Write: true, Delete: true}).String(),
	}.SignWithSharedKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return q.Encode()
}

// use opens the store with the credentials in the environment, and asks it for something.
func use(t *testing.T, raw string) error {
	t.Helper()
	s, err := shared.Open(t.Context(), []shared.Driver{Driver()}, raw, shared.Options{
		Mode: shared.Write, Pause: func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		return err
	}
	_, err = s.Get(t.Context(), cache.Key{1})
	return errors.Join(err, s.Close())
}

// TestAzblob_credentials asks Azurite with all kinds of credentials, good and wrong. No error shows
// them. It sets the environment, so it is not parallel.
func TestAzblob_credentials(t *testing.T) {
	cloudtest.Need(t)
	container, err := real.Container(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const variables = "AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_CONNECTION_STRING"
	wrong := base64.StdEncoding.EncodeToString([]byte("a wrong key of another account"))
	connection := "DefaultEndpointsProtocol=http;AccountName=" + azblobtest.Account + ";BlobEndpoint=" + real.URL + "/" + azblobtest.Account + ";AccountKey="
	for _, tt := range []struct {
		name, variable, value string
		good                  bool
	}{
		{"key", "AZURE_STORAGE_KEY", azblobtest.Key, true},
		{"wrong key", "AZURE_STORAGE_KEY", wrong, false},
		{"no key at all", "AZURE_STORAGE_KEY", "S3CRET!", false},
		{"signature", "AZURE_STORAGE_SAS_TOKEN", signed(t, container, time.Now().Add(time.Hour)), true},
		{"signature that is over", "AZURE_STORAGE_SAS_TOKEN", signed(t, container, time.Now().Add(-time.Hour)), false},
		{"signature of another container", "AZURE_STORAGE_SAS_TOKEN", signed(t, "another", time.Now().Add(time.Hour)), false},
		{"connection string", "AZURE_STORAGE_CONNECTION_STRING", connection + azblobtest.Key, true},
		{"connection string with a wrong key", "AZURE_STORAGE_CONNECTION_STRING", connection + wrong, false},
		{"connection string that is none", "AZURE_STORAGE_CONNECTION_STRING", "S3CRET!", false},
		{"nothing", "AZURE_STORAGE_KEY", "", false},
	} {
		for variable := range strings.FieldsSeq(variables) {
			t.Setenv(variable, "")
		}
		t.Setenv(tt.variable, tt.value)
		err := use(t, azblobtest.StoreURL(container, real.URL))
		if tt.good != errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("%s: %v", tt.name, err)
		}
		text := fmt.Sprint(err)
		hidden := []string{azblobtest.Key, wrong, "S3CRET"}
		if signature, err := url.ParseQuery(tt.value); err == nil && signature.Get("sig") != "" {
			hidden = append(hidden, signature.Get("sig"), url.QueryEscape(signature.Get("sig")))
		}
		for _, h := range hidden {
			if strings.Contains(text, h) {
				t.Errorf("%s: the error shows %q: %s", tt.name, h, text)
			}
		}
		if strings.Contains(text, "\n") && !tt.good {
			t.Errorf("%s: the error has several lines: %s", tt.name, text)
		}
	}
}

// final is an error of Azure's client that trying again does not help.
type final struct{ error }

func (final) NonRetriable()   {}
func (f final) Unwrap() error { return f.error }

// TestAzblob_tokens: whoever gives out tokens may refuse, or be away.
func TestAzblob_tokens(t *testing.T) {
	t.Parallel()
	answered := func(status int) error {
		return &azidentity.AuthenticationFailedError{RawResponse: &http.Response{
			StatusCode: status, Request: &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "login.test"}}, Body: http.NoBody,
		}}
	}
	for _, tt := range []struct {
		err  error
		want error
	}{
		{answered(http.StatusUnauthorized), shared.ErrPermanent},
		{answered(http.StatusBadRequest), shared.ErrPermanent},
		{answered(http.StatusServiceUnavailable), cloud.ErrPassing},
		{final{errors.New("no credential is there")}, shared.ErrPermanent},
		{final{&url.Error{Op: "Post", URL: "https://login.test", Err: errors.New("connection refused")}}, nil},
		{&azidentity.AuthenticationFailedError{}, nil}, // no answer came
		{errors.New("unexpected end"), nil},
	} {
		if got := judge(fmt.Errorf("get a token: %w", tt.err)); !errors.Is(got, tt.want) || tt.want == nil && got != nil {
			t.Errorf("%T %v: %v, want %v", tt.err, tt.err, got, tt.want)
		}
	}
}
