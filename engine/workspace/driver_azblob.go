//go:build !no_azblob

package workspace

import (
	"raglab/cache/shared"
	"raglab/cache/shared/azblob"
)

func azblobDriver() []shared.Driver { return []shared.Driver{azblob.Driver()} }
