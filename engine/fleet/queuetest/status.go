package queuetest

import (
	"time"

	"raglab/engine"
	"raglab/engine/fleet"
)

func statusCases() []testCase { return []testCase{{"status", status}} }

// The status shows runs at work, those that ended lately, and who has what.
func status(l *lab) {
	first := l.submit(submission(node("a")))
	l.make(0, "a")
	l.news(first)
	second := l.submit(submission(node("b"), node("c", "b")))
	b := l.claimNode(1, "b")
	if err := l.Workers[1].Tell(l.soon(), b, fleet.Notice{Type: engine.EventProgress, Done: 3, Total: 10, Unit: "texts"}); err != nil {
		l.Fatal(err)
	}
	r := l.run(second)
	if r.Experiment != "lab" || r.By != "somebody" || r.Begun.IsZero() || len(r.Running) != 1 {
		l.Fatalf("the run is %+v", r)
	}
	if n := r.Running[0]; n.Address != "b" || n.Worker != l.Workers[1].Name || n.Attempt != 1 || n.Since.IsZero() || n.Done != 3 || n.Total != 10 || n.Unit != "texts" {
		l.Errorf("running is %+v", n)
	}
	l.wantRun(first, fleet.RunDone, 0, 0, 0, 1, 0, 0)
	s, err := l.Workers[0].Status(l.soon(), time.Now().Add(time.Hour))
	if err != nil || len(s.Runs) != 1 || s.Runs[0].ID != second {
		l.Fatalf("runs at work are %+v, %v", s.Runs, err)
	}
	if c := s.Runs[0].Classes; len(c) != 1 || c[0] != node("c", "b").Class {
		l.Errorf("what is to be made is of classes %v", c)
	}
	claims := 0
	for _, w := range s.Workers {
		claims += w.Claims
		if w.Claims > 0 && (w.Name != l.Workers[1].Name || w.Since.IsZero()) {
			l.Errorf("worker %+v has claims", w)
		}
	}
	if claims != 1 {
		l.Errorf("the workers have %d claims, want 1: %+v", claims, s.Workers)
	}
}
