//go:build !no_gs

package workspace

import (
	"raglab/cache/shared"
	"raglab/cache/shared/gs"
)

func gsDriver() []shared.Driver { return []shared.Driver{gs.Driver()} }
