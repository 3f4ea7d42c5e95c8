package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/engine"
	"raglab/internal/web"
)

// remote is a source of two documents that may fail, and tells how far it is.
type remote struct {
	err  error
	tell func(done, total int)
}

func (*remote) Inputs(context.Context) ([]string, error) { return nil, nil }

func (r *remote) Progress(tell func(done, total int)) { r.tell = tell }

func (r *remote) Documents(context.Context) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		for i := range 2 {
			r.tell(i+1, 2)
			if !yield(axes.Document{ID: fmt.Sprint("d", i), Text: "text"}, nil) {
				return
			}
		}
		if r.err != nil {
			yield(axes.Document{}, r.err)
		}
	}
}

func TestFetch_readsASourceThatTellsItsProgress(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, err := l.run(t, fetchKind(sharding{8, 1}, false), fetchWork{source: &remote{}, sharding: sharding{8, 1}}, nil)
	if err != nil || string(out["order"]) != "\"d0\"\n\"d1\"\n" {
		t.Errorf("order %q, %v", out["order"], err)
	}
}

func TestFetch_overTheNetworkIsNoPartOfAPlan(t *testing.T) {
	t.Parallel()
	if k := fetchKind(sharding{8, 1}, false); k.Cheap || k.Pure {
		t.Errorf("a fetch over the network is %+v", k)
	}
	if k := fetchedQuestionsKind; k.Cheap || k.Pure || k.Name != questionsKind.Name || k.Version != questionsKind.Version {
		t.Errorf("questions over the network are %+v", k)
	}
}

// What the network did may pass, and is tried again; what is not as it was locked
// is the user's to mend.
func TestSourceError_sorts(t *testing.T) {
	t.Parallel()
	input := func(err error) bool { return errors.As(err, new(*engine.InputError)) }
	broken := fmt.Errorf(`fetch article "Київ": %w`, web.Temporary(errors.New("connection reset"), 0))
	changed := &source.Error{Path: "uk.wikipedia", Problem: `article "Київ" is not as it was locked`}
	for name, test := range map[string]struct {
		err              error
		transient, input bool
	}{
		"the network":   {broken, true, false},
		"the content":   {changed, false, true},
		"several":       {fmt.Errorf("read: %w", &source.Errors{List: []*source.Error{changed}}), false, true},
		"anything else": {errors.New("permission denied"), false, false},
	} {
		got := sourceError(test.err)
		if engine.IsTransient(got) != test.transient || input(got) != test.input || !strings.Contains(got.Error(), test.err.Error()) {
			t.Errorf("%s: %#v", name, got)
		}
	}
}
