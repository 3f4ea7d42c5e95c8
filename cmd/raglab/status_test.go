package main

import (
	"strings"
	"testing"
	"time"

	"raglab/engine/fleet"
)

// TestWriteFleet_unserved names the classes of what a run is still to make that no
// worker serves.
func TestWriteFleet_unserved(t *testing.T) {
	t.Parallel()
	s := fleet.Status{
		Runs: []fleet.RunStatus{
			{ID: 1, State: fleet.RunWorking, Ready: 2, Classes: []fleet.Class{fleet.Accelerator, fleet.CPU, fleet.Network}},
			{ID: 2, State: fleet.RunWorking, Ready: 1, Classes: []fleet.Class{fleet.CPU}},
		},
		Workers: []fleet.WorkerStatus{{Name: "one", Classes: []fleet.Class{fleet.CPU}}},
	}
	var text strings.Builder
	writeFleet(&text, s, time.Now())
	const want = "\nNo worker serves what run 1 needs: raglab worker -serve accelerator,network starts one.\n"
	if !strings.HasSuffix(text.String(), want) || strings.Contains(text.String(), "what run 2 needs") {
		t.Errorf("%swant at its end%s", text.String(), want)
	}
}

// TestWriteFleetJSON_empty has lists where there is nothing.
func TestWriteFleetJSON_empty(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := writeFleetJSON(&text, fleet.Status{}); err != nil {
		t.Fatal(err)
	}
	if want := `{"version":1,"runs":[],"workers":[]}` + "\n"; text.String() != want {
		t.Errorf("%swant %s", text.String(), want)
	}
}
