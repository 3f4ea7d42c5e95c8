package fleet

import (
	"errors"

	"raglab/engine"
)

// StageError is the failure of a stage on a worker. Its text is the stage's own, so that
// one cause reads the same wherever it was met.
type StageError struct {
	Text   string
	Worker string
}

func (e *StageError) Error() string { return e.Text }

// ErrHeld is why stages ended that ran when somebody held their run.
var ErrHeld = errors.New("the run was cancelled")

// failureOf tells a queue of an error: whose it is, and what it says.
func failureOf(err error) Failure {
	var input *engine.InputError
	var store *engine.StoreError
	f := Failure{Text: err.Error(), Class: StageFailure, MayPass: engine.IsTransient(err)}
	switch {
	case errors.As(err, &input):
		f.Class = InputFailure
	case errors.As(err, &store):
		// A full disk here need not be one on another machine.
		f.Class, f.MayPass = StoreFailure, true
	}
	return f
}

// errorOf is the failure in a notice as an error of its class.
func errorOf(n Notice) error {
	if n.Failure == nil {
		return &StageError{n.Message, n.Worker}
	}
	err := &StageError{n.Failure.Text, n.Worker}
	switch n.Failure.Class {
	case InputFailure:
		return &engine.InputError{Err: err}
	case StoreFailure:
		return &engine.StoreError{Err: err}
	}
	return err
}
