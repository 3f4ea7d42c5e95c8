package main

import (
	"context"
	"fmt"
	"strconv"
)

// drive runs one of the drivers: raglab's side of a row, in a process of its own
// so that its memory and threads are nobody else's.
func drive(ctx context.Context, name string, args []string) error {
	drivers := map[string]func(context.Context, []string) error{
		"bm25":        bm25Driver,
		"bm25-stream": bm25StreamDriver,
		"exact":       exactDriver,
		"metrics":     metricsDriver,
		"paired":      pairedDriver,
		"score":       scoreDriver,
		"tokens":      tokensDriver,
		"embed":       embedDriver,
		"postgres":    postgresDriver,
		"sim":         simDriver,
		"stages":      stagesDriver,

		"stages-postgres": stagesPostgresDriver,
	}
	driver, ok := drivers[name]
	if !ok {
		return fmt.Errorf("there is no driver %q", name)
	}
	if err := driver(ctx, args); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// numbers reads two arguments that count something.
func numbers(a, b string) (x, y int, err error) {
	if x, err = strconv.Atoi(a); err == nil {
		y, err = strconv.Atoi(b)
	}
	if err == nil && (x < 1 || y < 1) {
		err = fmt.Errorf("%d and %d must be at least 1", x, y)
	}
	return x, y, err
}
