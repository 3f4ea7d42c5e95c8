package axestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"testing"

	"raglab/axes/retriever"
	"raglab/internal/pg"
)

// keyOf makes a content key for a corpus.
func keyOf(c *Corpus) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %d", c.Chunks, c.Rows, c.Dim))
	return hex.EncodeToString(sum[:])
}

// database returns the database that the kind keeps its index in.
func (k *Retriever) database(t *testing.T) *pg.DB {
	t.Helper()
	db, err := k.Env.Postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// content returns the rows of the index over a corpus where it lives in a store.
func (k *Retriever) content(t *testing.T, c *Corpus) []byte {
	t.Helper()
	if _, ok := instance(t, k.Kind, k.Set, k.Env).(retriever.Resident); !ok {
		return nil
	}
	name, err := k.database(t).Table(keyOf(c))
	if err != nil {
		t.Fatal(err)
	}
	var rows string
	err = k.database(t).Pool().QueryRow(t.Context(), "select string_agg(r::text, e'\\n' order by r::text collate \"C\") from "+name.Sanitize()+" r").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(rows)
}

// drop drops the index over a corpus where it lives in a store.
func (k *Retriever) drop(t *testing.T, c *Corpus) {
	t.Helper()
	if _, ok := instance(t, k.Kind, k.Set, k.Env).(retriever.Resident); !ok {
		return
	}
	if err := k.database(t).Drop(t.Context(), []string{keyOf(c)}); err != nil {
		t.Fatal(err)
	}
}

// testResident tests what is asked of a [retriever.Resident] beyond a leaf.
func (k *Retriever) testResident(t *testing.T) {
	t.Run("what is there stays", func(t *testing.T) { t.Parallel(); k.testAgain(t) })
	t.Run("what fails leaves nothing", func(t *testing.T) { t.Parallel(); k.testInterrupted(t) })
	t.Run("what is gone is noticed", func(t *testing.T) { t.Parallel(); k.testGone(t) })
	t.Run("needs a key", func(t *testing.T) {
		t.Parallel()
		if err := instance(t, k.Kind, k.Set, k.Env).Build(t.Context(), &Corpus{}, k.Analyzer, io.Discard); err == nil {
			t.Error("was built without a key")
		}
		if _, err := k.resident(t).BuildAs(t.Context(), "a key", &Corpus{}, k.Analyzer, io.Discard); err == nil {
			t.Error("was built under the key \"a key\"")
		}
	})
}

func (k *Retriever) resident(t *testing.T) retriever.Resident {
	t.Helper()
	return instance(t, k.Kind, k.Set, k.Env).(retriever.Resident)
}

func (k *Retriever) testAgain(t *testing.T) {
	c := RandomCorpus(rand.New(rand.NewPCG(107, 1)), 400, k.Dim)
	var first, second bytes.Buffer
	made, err := k.resident(t).BuildAs(t.Context(), keyOf(c), c, k.Analyzer, &first)
	if err != nil || !made.Built || made.HeapBytes == 0 || made.Copy <= 0 || made.Server == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	if (made.Index > 0) != (made.IndexBytes > 0) {
		t.Errorf("an index of %d bytes took %s", made.IndexBytes, made.Index)
	}
	there, err := k.resident(t).BuildAs(t.Context(), keyOf(c), c, k.Analyzer, &second)
	if err != nil || there.Built || there.IndexBytes != made.IndexBytes || there.HeapBytes != made.HeapBytes || there.Copy != 0 {
		t.Errorf("again: %+v, %v", there, err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("the manifests differ: %s and %s", first.Bytes(), second.Bytes())
	}
	found, err := k.database(t).Exists(t.Context(), []string{keyOf(c)})
	if f := found[keyOf(c)]; err != nil || f.Problem != "" || f.Kind != k.Kind.Name {
		t.Errorf("%+v, %v", f, err)
	}
}

// interrupted is a corpus that cancels a build while it is read.
type interrupted struct {
	*Corpus
	cancel func()
}

func (c interrupted) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		n := 0
		for s, err := range c.Corpus.Texts() {
			if n++; n == c.Len()/2 {
				c.cancel()
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

func (c interrupted) Vectors() ([]float32, int) {
	c.cancel()
	return c.Corpus.Vectors()
}

func (k *Retriever) testInterrupted(t *testing.T) {
	c := RandomCorpus(rand.New(rand.NewPCG(108, 1)), 3000, k.Dim)
	why := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	half := interrupted{c, func() { cancel(why) }}
	if _, err := k.resident(t).BuildAs(ctx, keyOf(c), half, k.Analyzer, io.Discard); !errors.Is(err, why) {
		t.Errorf("interrupted: %v", err)
	}
	found, err := k.database(t).Exists(t.Context(), []string{keyOf(c)})
	if err != nil || len(found) != 0 {
		t.Errorf("left %v, %v", found, err)
	}
}

func (k *Retriever) testGone(t *testing.T) {
	c, s, r := k.random(t, 109, 60)
	manifest := k.build(t, c)
	name, err := k.database(t).Table(keyOf(c))
	if err != nil {
		t.Fatal(err)
	}
	q := RandomQuery(r, k.Dim)
	q.Text = c.Chunks[0] + " w0 w1 w2"
	if hits := search(t, s, q, 10); len(hits) == 0 {
		t.Fatalf("%q finds nothing", q.Text)
	}
	for _, how := range []string{"truncate ", "drop table "} {
		if _, err := k.database(t).Pool().Exec(t.Context(), how+name.Sanitize()); err != nil {
			t.Fatal(err)
		}
		if hits, err := s.Search(t.Context(), q, 10, nil); !errors.Is(err, retriever.ErrGone) {
			t.Errorf("search after %s: %v, %v", how, hits, err)
		}
		_, err := k.resident(t).Open(t.Context(), bytes.NewReader(manifest), int64(len(manifest)), k.Analyzer)
		if !errors.Is(err, retriever.ErrGone) {
			t.Errorf("open after %s: %v", how, err)
		}
	}
	if again := k.build(t, c); !bytes.Equal(manifest, again) {
		t.Errorf("built anew it is %s, was %s", again, manifest)
	}
	if hits := search(t, s, q, 10); len(hits) == 0 {
		t.Error("what was built anew is not found by who had it open")
	}
}
