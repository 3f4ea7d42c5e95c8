package river

import (
	"context"
	"slices"
	"sync"

	"github.com/riverqueue/river/riverdriver"
)

// fetched are the jobs that River has given this process and whose nodes are not
// claimed yet. When the answer to a fetch, or a claim, was lost on the way, there may be
// jobs that count as this process's and that it does not know of.
type fetched struct {
	fetching sync.RWMutex // held for reading while a fetch is under way
	mu       sync.Mutex
	ids      map[int64]struct{}
	doubt    bool
}

func newFetched() *fetched { return &fetched{ids: map[int64]struct{}{}} }

func (f *fetched) begin() { f.fetching.RLock() }

func (f *fetched) end(got *riverdriver.JobGetAvailableResult, err error) {
	defer f.fetching.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt = f.doubt || err != nil
	if err == nil {
		for _, j := range got.Jobs {
			f.ids[j.ID] = struct{}{}
		}
	}
}

// done says that a job's node was claimed, or that the job was ended; or that neither
// is certain.
func (f *fetched) done(id int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt = f.doubt || err != nil
	delete(f.ids, id)
}

// known are the jobs whose nodes are about to be claimed.
func (f *fetched) known() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]int64, 0, len(f.ids))
	for id := range f.ids {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// takeDoubt reports whether there may be jobs that are not known here, and forgets it.
func (f *fetched) takeDoubt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	doubt := f.doubt
	f.doubt = false
	return doubt
}

// reclaim gives back the jobs that this process was given without knowing.
func (q *Queue) reclaim(ctx context.Context) {
	f := q.driver.fetched
	if !f.takeDoubt() {
		return
	}
	ctx, cancel := answered(ctx)
	defer cancel()
	f.fetching.Lock()
	defer f.fetching.Unlock()
	err := q.once(ctx, q.pool, true, func(t *tx) error {
		return t.requeueFetched(ctx, `j.attempted_by[array_upper(j.attempted_by, 1)] = $1 and j.id <> all($2)`, clientID(q.id), f.known())
	})
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.doubt = true // the next time
	}
}
