package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"raglab/axes"
	"raglab/axes/embedder"
	"raglab/internal/assets"
)

// embedDriver: ASSETS texts.txt REPS THREADS COUNT. Embeds the first COUNT texts as
// passages, and their first seven words as questions, by either graph.
func embedDriver(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return errors.New("embed takes five arguments")
	}
	reps, threads, err := numbers(args[2], args[3])
	if err != nil {
		return err
	}
	count, _, err := numbers(args[4], "1")
	if err != nil {
		return err
	}
	texts, err := readLines(args[1])
	if err != nil {
		return err
	}
	texts = texts[:min(count, len(texts))]
	c := &clock{reps: reps}
	c.use(threads)
	for _, precision := range []string{"f32", "q4"} {
		if err := embedWith(ctx, c, args[0], precision, texts); err != nil {
			return err
		}
	}
	return c.print()
}

// embedWith times one graph, once it has run.
func embedWith(ctx context.Context, c *clock, folder, precision string, texts []string) error {
	kind, _ := axes.Find(embedder.Kinds, "onnx")
	params := kind.Params().(*embedder.ONNXParams)
	params.Precision = precision
	store := assets.New(assets.Config{Dir: folder})
	e, err := kind.New(params, axes.Env{Language: "uk", Threads: c.threads, Asset: func(ctx context.Context, name string) (string, error) {
		a, ok := assets.Find(name)
		if !ok {
			return "", fmt.Errorf("there is no asset %q", name)
		}
		paths, err := store.Fetch(ctx, a, nil)
		return paths.Dir, err
	}})
	if err != nil {
		return err
	}
	defer e.Close()
	if _, _, err := e.EmbedPassages(ctx, texts[:min(32, len(texts))], nil); err != nil {
		return err
	}
	if _, err := c.time("passages, "+precision, len(texts), func() error {
		_, _, err := e.EmbedPassages(ctx, texts, nil)
		return err
	}); err != nil {
		return err
	}
	return askEach(ctx, c, e, "question, "+precision, texts[:min(50, len(texts))])
}

// askEach times questions one by one.
func askEach(ctx context.Context, c *clock, e embedder.Embedder, name string, texts []string) error {
	var ms []float64
	s, err := c.time(name, len(texts), func() error {
		for _, text := range texts {
			words := strings.Fields(text)
			start := time.Now()
			if _, err := e.EmbedQuery(ctx, strings.Join(words[:min(7, len(words))], " ")); err != nil {
				return err
			}
			ms = append(ms, time.Since(start).Seconds()*1000)
		}
		return nil
	})
	if err == nil {
		slices.Sort(ms)
		s.P50 = ms[len(ms)/2]
	}
	return err
}
