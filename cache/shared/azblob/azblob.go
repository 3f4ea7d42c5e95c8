// Package azblob opens containers of Azure Blob Storage as a store.
package azblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"gocloud.dev/blob/azureblob"

	"raglab/cache/shared"
	"raglab/cache/shared/cloud"
)

// Driver opens azblob://CONTAINER/PREFIX of the account in AZURE_STORAGE_ACCOUNT, with the credentials
// in AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_CONNECTION_STRING, or those of Azure's
// default credential chain.
func Driver() shared.Driver {
	return shared.Driver{
		Scheme: azureblob.Scheme, Example: "azblob://CONTAINER/PREFIX",
		Query: []string{"storage_account", "domain", "protocol", "localemu"},
		Open:  open,
	}
}

func open(ctx context.Context, u *url.URL) (shared.Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("it must be azblob://CONTAINER or azblob://CONTAINER/PREFIX")
	}
	opener := azureblob.URLOpener{MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
	b, err := opener.OpenBucketURL(ctx, u)
	if err != nil {
		return nil, err
	}
	return cloud.New(b, u, cloud.Provider{Judge: judge, Say: say, Context: seldom}), nil
}

// seldom lets Azure's client try a request again a moment later, for the parts of an upload, and no
// more: a request that fails as a whole is the store's to make again.
func seldom(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: 2, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second})
}

// judge knows the codes that say more than a status does. A name that cannot be resolved, which
// azureblob takes for a container that is not there, may be a network that is down.
func judge(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return cloud.ErrPassing
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return judgeCredential(err)
	}
	switch {
	case bloberror.HasCode(response, bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted):
		return fmt.Errorf("%w: there is no such container", shared.ErrPermanent)
	case bloberror.HasCode(response, bloberror.BlobAlreadyExists):
		return fs.ErrExist
	case bloberror.HasCode(response, bloberror.InvalidBlockList, bloberror.InvalidBlobOrBlock):
		return cloud.ErrPassing // another writer of the blob ended first: the parts not yet in one are gone
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return cloud.ErrPassing // the object is shorter than it was
	}
	return cloud.ByStatus(response.StatusCode)
}

// judgeCredential knows what Azure's client says when it has no credentials that it could use. A service
// that gives out tokens may be away like any other; its client then says no more than that it failed.
func judgeCredential(err error) error {
	var failed *azidentity.AuthenticationFailedError
	var final interface {
		error
		NonRetriable()
	}
	var network net.Error
	switch {
	case errors.As(err, &failed) && failed.RawResponse == nil:
		return nil
	case errors.As(err, &failed):
		if word := cloud.ByStatus(failed.RawResponse.StatusCode); errors.Is(word, cloud.ErrPassing) {
			return word
		}
	case !errors.As(err, &final), errors.As(err, &network):
		return nil
	}
	return fmt.Errorf("%w: no access (credentials come from the environment)", shared.ErrPermanent)
}

// say is an answer without its headers and its page.
func say(err error) string {
	var response *azcore.ResponseError
	var failed *azidentity.AuthenticationFailedError
	switch {
	case errors.As(err, &response):
		return strings.TrimSpace(fmt.Sprintf("Blob Storage answered %d %s", response.StatusCode, response.ErrorCode))
	case errors.As(err, &failed) && failed.RawResponse != nil:
		return fmt.Sprintf("ask for a token: %d", failed.RawResponse.StatusCode)
	}
	return ""
}
