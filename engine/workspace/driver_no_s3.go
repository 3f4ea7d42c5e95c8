//go:build no_s3

package workspace

import "raglab/cache/shared"

func s3Driver() []shared.Driver { return nil }
