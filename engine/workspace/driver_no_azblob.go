//go:build no_azblob

package workspace

import "raglab/cache/shared"

func azblobDriver() []shared.Driver { return nil }
