package onnx

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A session is opened once for several users, and closed when the last one has been
// gone for a while.
func TestShared(t *testing.T) {
	t.Parallel()
	r := testRuntime(t)
	path := writeModel(t, sumModel(1))
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		s := NewShared(func(context.Context) (*Session, error) {
			opened++
			return r.Open(path, Options{Inputs: []string{InputIDs}, Outputs: [][]string{{LastHiddenState}}})
		})
		use := func() func() {
			t.Helper()
			_, release, err := s.Use(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		first, second := use(), use()
		first()
		first() // as good as once
		time.Sleep(2 * IdleAfter)
		if synctest.Wait(); !s.IsOpen() || opened != 1 {
			t.Errorf("open is %v after %d openings, with a user left", s.IsOpen(), opened)
		}
		second()
		time.Sleep(IdleAfter - time.Millisecond)
		if synctest.Wait(); !s.IsOpen() {
			t.Error("the session was closed early")
		}
		time.Sleep(2 * time.Millisecond)
		if synctest.Wait(); s.IsOpen() {
			t.Error("the session is still open")
		}
		use()()
		if opened != 2 {
			t.Errorf("%d openings, want 2", opened)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil || s.IsOpen() {
			t.Errorf("open is %v, %v", s.IsOpen(), err)
		}
	})
	broken := errors.New("no such file")
	if _, _, err := NewShared(func(context.Context) (*Session, error) { return nil, broken }).Use(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
