package river

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"

	"raglab/internal/pg"
)

// logger passes River's words on, without secrets. What River counts as worth telling
// is detail here.
func logger(to hclog.Logger) *slog.Logger { return slog.New(handler{to: to}) }

type handler struct{ to hclog.Logger }

func level(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		// Each of its parts tells of each attempt in vain to reach the server, and goes
		// on trying.
		return hclog.Warn
	case l >= slog.LevelInfo:
		return hclog.Debug
	}
	return hclog.Trace
}

// Enabled reports whether the logger takes the level.
func (h handler) Enabled(_ context.Context, l slog.Level) bool { return h.to.GetLevel() <= level(l) }

// Handle writes a record.
func (h handler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, pg.Redact(a.Value.String()))
		return true
	})
	h.to.Log(level(r.Level), pg.Redact(r.Message), args...)
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	args := make([]any, 0, 2*len(attrs))
	for _, a := range attrs {
		args = append(args, a.Key, pg.Redact(a.Value.String()))
	}
	return handler{to: h.to.With(args...)}
}

// WithGroup returns a handler for attributes of a group.
func (h handler) WithGroup(name string) slog.Handler { return handler{to: h.to.Named(name)} }
