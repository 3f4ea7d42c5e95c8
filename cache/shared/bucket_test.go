package shared_test

import (
	"context"
	"iter"
	"strings"

	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// forgetful lists no records.
type forgetful struct{ *sharedtest.Memory }

func (f *forgetful) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	return func(yield func(shared.Object, error) bool) {
		for o, err := range f.Memory.List(ctx, prefix) {
			if !strings.HasPrefix(o.Name, "ac/") && !yield(o, err) {
				return
			}
		}
	}
}
