package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var ids []string
	var logs []*RunLog
	for i := range 3 {
		id := NewRunID(at.Add(time.Duration(i) * time.Second))
		r, err := l.CreateRun("Експеримент 1", id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ids, logs = append(ids, id), append(logs, r)
	}
	if _, err := l.CreateRun("Експеримент 1", ids[0]); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second run of one id: %v", err)
	}
	if err := errors.Join(logs[0].Append(map[string]int{"n": 1}), logs[0].Append("two"), logs[0].Close(), logs[0].Close()); err != nil {
		t.Fatal(err)
	}
	if err := logs[0].Append("late"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
	// Latest first, whatever the file system says.
	old := at.Add(-time.Hour)
	rel, err := runRel("Експеримент 1", ids[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(l.path(rel), old, old); err != nil {
		t.Fatal(err)
	}
	got, err := l.Runs("Експеримент 1")
	if err != nil {
		t.Fatal(err)
	}
	want := []RunInfo{
		{Experiment: "Експеримент 1", ID: ids[2], Active: true},
		{Experiment: "Експеримент 1", ID: ids[1], Active: true},
		{Experiment: "Експеримент 1", ID: ids[0], Bytes: 14},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Runs (-want +got):\n%s", diff)
	}
	if text := readRun(t, l, "Експеримент 1", ids[0]); text != "{\"n\":1}\n\"two\"\n" {
		t.Errorf("log: %q", text)
	}
	if names, err := l.Experiments(); err != nil || !cmp.Equal(names, []string{"Експеримент 1"}) {
		t.Errorf("Experiments: %q, %v", names, err)
	}
	if _, err := l.OpenRun("Експеримент 1", "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
	if n, err := l.RemoveRuns(t.Context(), "Експеримент 1", 1); err != nil || n != 1 {
		t.Errorf("removed %d, %v; want the one that is over", n, err)
	}
}

func readRun(t testing.TB, l *Local, experiment, id string) string {
	t.Helper()
	r, err := l.OpenRun(experiment, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpenRun_wholeLinesOnly(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	r, err := l.CreateRun("e", "1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	long := strings.Repeat("x", 200_000)
	for text, want := range map[string]string{
		"":                       "",
		"half a li":              "",
		"1\n2\nhalf":             "1\n2\n",
		"1\n" + long:             "1\n",
		long + "\n" + long:       long + "\n",
		"1\n" + long + "\n" + "": "1\n" + long + "\n",
	} {
		if err := os.WriteFile(l.path("runs/e/1.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := readRun(t, l, "e", "1"); got != want {
			t.Errorf("%.20q…: read %d bytes, want %d", text, len(got), len(want))
		}
	}
}

func TestRunLog_atOnce(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	r, err := l.CreateRun("e", "1")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := r.Append(strings.Repeat(fmt.Sprint(i%10), 3000)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(readRun(t, l, "e", "1"), "\n"), "\n")
	for _, line := range lines {
		if len(line) != 3002 || strings.Trim(line[1:3001], line[1:2]) != "" {
			t.Errorf("mixed line %.20q…", line)
		}
	}
	if len(lines) != 20 {
		t.Errorf("%d lines, want 20", len(lines))
	}
}

func TestNewRunID_sortsByTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "a"))
		b := a.Add(time.Duration(rapid.Int64Range(1, 1e15).Draw(t, "later")) * time.Microsecond)
		if NewRunID(a) >= NewRunID(b.In(time.FixedZone("east", 3*3600))) {
			t.Fatalf("%s is not before %s", NewRunID(a), NewRunID(b))
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	s := l.State("experiment/with a path")
	if _, err := s.Read("last"); !errors.Is(err, ErrNotFound) || errors.As(err, new(*CorruptError)) {
		t.Errorf("before it was written: %v", err)
	}
	for _, text := range []string{"", "text", "\nsha256 x\n", strings.Repeat("long", 1<<18)} {
		if err := s.Replace("last", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read("last"); err != nil || string(got) != text {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(text))
		}
	}
	why := errors.New("no")
	if err := s.Update(t.Context(), "last", func([]byte) ([]byte, error) { return nil, why }); !errors.Is(err, why) {
		t.Errorf("Update: %v", err)
	}
	if got, err := s.Read("last"); err != nil || len(got) != 4<<18 {
		t.Errorf("a failed Update changed it: %d bytes, %v", len(got), err)
	}
}

func TestState_updatesDoNotCross(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	const writers, updates = 4, 25
	for range writers {
		s := openTest(t, dir, Options{NoSync: true}).State("e")
		all.Go(func() {
			for range updates {
				err := s.Update(context.Background(), "count", func(old []byte) ([]byte, error) { return append(old, '.'), nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := openTest(t, dir, Options{}).State("e").Read("count")
	if err != nil || len(got) != writers*updates {
		t.Errorf("%d updates counted, %v; want %d", len(got), err, writers*updates)
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	keys := []Key{keyOf("a"), keyOf("b")}
	err := errors.Join(
		l.Pin(t.Context(), "one", keys[:1]), l.Pin(t.Context(), "One", keys),
		l.Pin(t.Context(), "one", keys[1:]), l.Pin(t.Context(), "none", nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Pins(t.Context())
	if diff := cmp.Diff(map[string][]Key{"one": keys[1:], "One": keys, "none": nil}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := l.Unpin(t.Context(), "two"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Unpin of nothing: %v", err)
	}
	if err := l.Pin(t.Context(), "", keys); err == nil {
		t.Error("a pin without a name")
	}
}

func TestEscapeName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ukwiki": "ukwiki", "a.b-c_1": "a.b-c_1", ".hidden": "%2Ehidden", "dot.": "dot%2E",
		"../up": "%2E.%2Fup", "Big": "%42ig", "100%": "100%25", "con": "%63on", "com1.txt": "%63om1.txt", "ї": "%D1%97",
	} {
		if got, err := escapeName(name); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"", strings.Repeat("ї", 40)} {
		if got, err := escapeName(name); err == nil {
			t.Errorf("%q: %q", name, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 12, 20).Draw(t, "name")
		escaped, err := escapeName(name)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := unescapeName(escaped); !ok || back != name {
			t.Fatalf("%q became %q and then %q", name, escaped, back)
		}
	})
}

func TestDigest_text(t *testing.T) {
	t.Parallel()
	d := DigestOf([]byte("raglab"))
	text, err := d.MarshalText()
	if err != nil || string(text) != d.String() || len(d.Short()) != 12 || !strings.HasPrefix(d.String(), d.Short()) {
		t.Errorf("%q, %v", text, err)
	}
	var back Digest
	if err := back.UnmarshalText(text); err != nil || back != d {
		t.Errorf("%v, %v", back, err)
	}
	k := Key(d)
	if got, err := ParseKey(k.String()); err != nil || got != k || k.Short() != d.Short() {
		t.Errorf("%v, %v", got, err)
	}
	if !(Digest{}).IsZero() || d.IsZero() || !(Key{}).IsZero() || k.IsZero() {
		t.Error("IsZero")
	}
	for _, bad := range []string{"", d.String()[1:], strings.ToUpper(d.String()), d.String()[:63] + "g", d.String() + "0"} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("%q parses as a digest", bad)
		}
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q parses as a key", bad)
		}
	}
}
