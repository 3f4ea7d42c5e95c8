//go:build !no_s3

package workspace

import (
	"raglab/cache/shared"
	"raglab/cache/shared/s3"
)

func s3Driver() []shared.Driver { return []shared.Driver{s3.Driver()} }
