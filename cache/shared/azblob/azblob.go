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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
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
	return cloud.New(b, u, judge), nil
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
		return nil
	}
	switch {
	case bloberror.HasCode(response, bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted):
		return fmt.Errorf("%w: there is no such container", shared.ErrPermanent)
	case bloberror.HasCode(response, bloberror.BlobAlreadyExists):
		return fs.ErrExist
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return cloud.ErrPassing // the object is shorter than it was
	}
	return cloud.ByStatus(response.StatusCode)
}
