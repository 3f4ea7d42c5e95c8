package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command prepares a process that dies, with all it started, when ctx ends.
func command(ctx context.Context, dir string, env []string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
	ownGroup(cmd)
	return cmd
}

// output runs a process that prints samples and reads them.
func output(ctx context.Context, env []string, argv ...string) ([]sample, error) {
	cmd := command(ctx, "", env, argv...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return nil, failure(err, errors.String())
	}
	return samplesOf(out)
}

// failure adds what a process said last to its error.
func failure(err error, said string) error {
	if said = strings.TrimSpace(said); said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
}

// timed runs a process to its end and measures it from outside: from before it is
// started until it is gone. Its output goes to out, or nowhere.
func timed(ctx context.Context, dir string, env []string, out io.Writer, argv ...string) (sample, error) {
	cmd := command(ctx, dir, env, argv...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &said
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start).Seconds()
	if err != nil {
		return sample{}, failure(err, said.String())
	}
	state := cmd.ProcessState
	return sample{
		Tool: raglabTool, Wall: wall, CPU: (state.UserTime() + state.SystemTime()).Seconds(), PeakMB: peakMB(state),
	}, nil
}

// repeated is the median of several timed runs, after one that is not counted.
func repeated(reps int, run func() (sample, error)) (sample, error) {
	if _, err := run(); err != nil {
		return sample{}, err
	}
	return median(reps, run)
}

// median runs something several times and takes the medians of its measurements
// and the greatest of its peaks.
func median(reps int, run func() (sample, error)) (sample, error) {
	if reps < 1 {
		return sample{}, errors.New("nothing to take a median of")
	}
	var out sample
	var walls, cpus series
	peak := 0.0
	for range reps {
		s, err := run()
		if err != nil {
			return s, err
		}
		walls, cpus, peak, out = append(walls, s.Wall), append(cpus, s.CPU), max(peak, s.PeakMB), s
	}
	out.Wall, out.CPU, out.PeakMB = walls.median(), cpus.median(), peak
	return out, nil
}
