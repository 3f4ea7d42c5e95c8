package embedder

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"raglab/internal/onnx"
)

func TestEncoder_closesIdleSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEmbedder(t, 1, nil)
		ask := func() []float32 {
			v, err := e.EmbedQuery(t.Context(), "Де бере початок Дністер?")
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		open := func() bool {
			return slices.ContainsFunc(e.sessions[:], (*onnx.Shared).IsOpen)
		}
		before := ask()
		time.Sleep(onnx.IdleAfter - time.Millisecond)
		if !open() {
			t.Error("the session was closed early")
		}
		ask()
		time.Sleep(onnx.IdleAfter - time.Millisecond)
		if !open() {
			t.Error("the session was closed although it was used")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if open() {
			t.Error("the session is still open")
		}
		if after := ask(); !slices.Equal(before, after) {
			t.Error("the session that was opened again gives another vector")
		}
		time.Sleep(2 * onnx.IdleAfter)
	})
}
