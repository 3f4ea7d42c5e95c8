package workspace

import (
	"slices"

	"raglab/cache/shared"
	"raglab/cache/shared/folder"
)

// storeDrivers are the kinds of store that this raglab opens. A provider's SDK is large: of the
// program's size s3 is some 20 MB, azblob as much, gs 40 MB. The build tags no_s3, no_azblob and
// no_gs leave each out.
func storeDrivers() []shared.Driver {
	return slices.Concat(s3Driver(), gsDriver(), azblobDriver(), []shared.Driver{folder.Driver()})
}
