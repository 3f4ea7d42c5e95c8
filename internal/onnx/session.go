package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// Options say how a session runs a model.
type Options struct {
	// Threads is how many threads one run uses, the caller's included; 0 is 1.
	// With 1 there is no thread pool, and concurrent runs do not disturb each other.
	Threads int
	// Outputs are the wanted outputs, in the order of a run's results. Each entry
	// is a list of names of which the first that the model has is taken.
	Outputs [][]string
	// Inputs are the names of the inputs that the caller can give. A model that
	// wants others is refused.
	Inputs []string
	// Required are the inputs that the model must have.
	Required []string
}

// Session is a loaded model. Runs may be concurrent; Close may not.
type Session struct {
	session *ort.DynamicAdvancedSession
	inputs  []ValueInfo
	outputs []ValueInfo
}

// ModelError says that a model does not have the inputs and outputs wanted of it.
type ModelError struct {
	Path    string
	Problem string
	// Inputs and Outputs are those that the model has.
	Inputs, Outputs []ValueInfo
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("model %s: %s; its inputs are %s, its outputs %s", e.Path, e.Problem, list(e.Inputs), list(e.Outputs))
}

func list(values []ValueInfo) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return "(" + strings.Join(texts, "; ") + ")"
}

// Open loads the model file at path. A model without the expected inputs and
// outputs gives a [*ModelError].
func (r *Runtime) Open(path string, o Options) (*Session, error) {
	s := &Session{}
	if err := s.choose(path, o); err != nil {
		return nil, err
	}
	options, err := sessionOptions(max(1, o.Threads))
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", path, err)
	}
	defer options.Destroy()
	s.session, err = ort.NewDynamicAdvancedSession(path, names(s.inputs), names(s.outputs), options)
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", path, err)
	}
	return s, nil
}

// choose finds the model's inputs and the wanted outputs.
func (s *Session) choose(path string, o Options) error {
	inputs, outputs, err := Inspect(path)
	if err != nil {
		return err
	}
	problem := func(format string, args ...any) error {
		return &ModelError{Path: path, Problem: fmt.Sprintf(format, args...), Inputs: inputs, Outputs: outputs}
	}
	for _, name := range o.Required {
		if !slices.Contains(names(inputs), name) {
			return problem("it has no input %s", name)
		}
	}
	for _, in := range inputs {
		if !slices.Contains(o.Inputs, in.Name) {
			return problem("it wants the input %s, expected only %s", in.Name, strings.Join(o.Inputs, ", "))
		}
	}
	s.inputs = inputs
	for _, wanted := range o.Outputs {
		i := -1
		for _, name := range wanted {
			if i = slices.Index(names(outputs), name); i >= 0 {
				break
			}
		}
		if i < 0 {
			return problem("it has no output %s", strings.Join(wanted, " or "))
		}
		s.outputs = append(s.outputs, outputs[i])
	}
	return nil
}

func sessionOptions(threads int) (*ort.SessionOptions, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		o.SetIntraOpNumThreads(threads),
		o.SetInterOpNumThreads(1),
		// Patterns are remembered per input shape; texts come in any length.
		o.SetMemPattern(false),
	)
	if err != nil {
		return nil, errors.Join(err, o.Destroy())
	}
	return o, nil
}

func names(values []ValueInfo) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Name
	}
	return out
}

// Inputs returns the model's inputs, in the order that Run takes them.
func (s *Session) Inputs() []ValueInfo { return s.inputs }

// Outputs returns the chosen outputs, in the order that Run returns them.
func (s *Session) Outputs() []ValueInfo { return s.outputs }

// Matrix is a dense tensor of floats, the last dimension varying fastest.
type Matrix struct {
	Dims []int64
	Data []float32
}

// Run runs the model on integer inputs of rows x columns each, in the order of
// Inputs, and returns the outputs. The context's end stops the run early.
func (s *Session) Run(ctx context.Context, rows, columns int, inputs ...[]int64) ([]Matrix, error) {
	if len(inputs) != len(s.inputs) {
		panic(fmt.Sprintf("onnx: run with %d inputs, the model has %d", len(inputs), len(s.inputs)))
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	in := make([]ort.Value, 0, len(inputs))
	defer func() { destroy(in) }()
	for _, data := range inputs {
		t, err := ort.NewTensor(ort.NewShape(int64(rows), int64(columns)), data)
		if err != nil {
			return nil, err
		}
		in = append(in, t)
	}
	out := make([]ort.Value, len(s.outputs))
	defer func() { destroy(out) }()
	if err := s.run(ctx, in, out); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("run model: %w", err)
	}
	matrices := make([]Matrix, len(out))
	for i, v := range out {
		t, ok := v.(*ort.Tensor[float32])
		if !ok {
			return nil, fmt.Errorf("run model: output %s holds no 32-bit floats", s.outputs[i])
		}
		matrices[i] = Matrix{Dims: t.GetShape(), Data: t.GetData()}
	}
	return matrices, nil
}

func (s *Session) run(ctx context.Context, in, out []ort.Value) error {
	if ctx.Done() == nil {
		return s.session.Run(in, out)
	}
	options, err := ort.NewRunOptions()
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		options.Terminate()
		close(ended)
	})
	err = s.session.RunWithOptions(in, out, options)
	if !stop() {
		<-ended // else the options could be freed under Terminate
	}
	return errors.Join(err, options.Destroy())
}

func destroy(values []ort.Value) {
	for _, v := range values {
		if v != nil {
			v.Destroy()
		}
	}
}

// Close frees the model. No run may be under way.
func (s *Session) Close() error { return s.session.Destroy() }
