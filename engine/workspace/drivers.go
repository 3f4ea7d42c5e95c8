package workspace

import (
	"slices"

	"raglab/cache/shared"
	"raglab/cache/shared/folder"
)

// storeDrivers are the kinds of store that this raglab opens. A provider's SDK is large: to a program
// of 56 MB s3 and azblob add 16 MB each and gs near 30. The build tags no_s3, no_azblob and no_gs
// leave each out.
func storeDrivers() []shared.Driver {
	return slices.Concat(s3Driver(), gsDriver(), azblobDriver(), []shared.Driver{folder.Driver()})
}
