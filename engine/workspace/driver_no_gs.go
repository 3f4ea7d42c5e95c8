//go:build no_gs

package workspace

import "raglab/cache/shared"

func gsDriver() []shared.Driver { return nil }
