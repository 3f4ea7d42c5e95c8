package html_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"raglab/internal/report"
)

// dataOf is what the script of a section is given.
func dataOf(t *testing.T, file []byte, id string, into any) {
	t.Helper()
	found := regexp.MustCompile(`(?s)id="` + id + `">(.*?)</script>`).FindSubmatch(file)
	if found == nil {
		t.Fatalf("there is no element %s", id)
	}
	if err := json.Unmarshal(found[1], into); err != nil {
		t.Fatal(err)
	}
}

func TestExplorer_data(t *testing.T) {
	t.Parallel()
	in := madeSmall()
	var got struct {
		Names        []string
		Measurements []int
		Values       [][]*float64
		Losses       [][]int
		First        []int
		Packed       bool
	}
	file := pageOf(t, in)
	dataOf(t, file, "data-explorer", &got)
	if !got.Packed {
		t.Error("the page says that it has no rankings")
	}
	var packed []byte
	dataOf(t, file, "later-explorer", &packed)
	if v := got.Values[1]; len(v) != 4 || *v[1] != 1 || v[3] != nil {
		t.Errorf("values %v", v)
	}
	// Lexical lost the first question within the depth and the third to the chunker.
	if want := []int{0, 2, 2, 1}; !reflect.DeepEqual(got.Losses[1], want) {
		t.Errorf("losses %v, want %v", got.Losses[1], want)
	}
	if want := []int{2, 0}; !reflect.DeepEqual(got.First, want) {
		t.Errorf("first rows %v, want %v", got.First, want)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var details report.Details
	if err := json.NewDecoder(r).Decode(&details); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(details.Chunks, in.Details.Chunks) || details.Rows[2] != in.Details.Rows[2] {
		t.Errorf("details %+v", details)
	}
}

// Rows that are one measurement share its values.
func TestExplorer_inertRowsShareValues(t *testing.T) {
	t.Parallel()
	in := madeSmall()
	in.Report.Configurations[2].Key = in.Report.Configurations[0].Key
	in.Report.Configurations[2].PerQuestion = in.Report.Configurations[0].PerQuestion
	var explorer, decisions struct {
		Measurements []int
		Values       [][]*float64
		Rows         []struct{ Measurement int }
	}
	file := pageOf(t, in)
	dataOf(t, file, "data-explorer", &explorer)
	dataOf(t, file, "data-decisions", &decisions)
	if want := []int{0, 1, 0, 2}; !reflect.DeepEqual(explorer.Measurements, want) || len(explorer.Values) != 3 {
		t.Errorf("measurements %v, %d lists of values", explorer.Measurements, len(explorer.Values))
	}
	if decisions.Rows[2].Measurement != 0 || len(decisions.Values) != 3 {
		t.Errorf("rows %v, %d lists of values", decisions.Rows, len(decisions.Values))
	}
}

func TestExplorer_withoutRankings(t *testing.T) {
	t.Parallel()
	in := madeSmall()
	in.Details = nil
	file := string(pageOf(t, in))
	if !strings.Contains(file, `"packed":false`) || !strings.Contains(file, "written without rankings") || strings.Contains(file, "Dnipro") || strings.Contains(file, `id="later-`) {
		t.Error("the page does not say that it has no rankings, or has their texts")
	}
}

// A report without questions, or of one row, has nothing to explore or to decide.
func TestExplorer_leftOut(t *testing.T) {
	t.Parallel()
	in := madeSmall()
	in.Report.Configurations = in.Report.Configurations[:1]
	file := string(pageOf(t, in))
	if strings.Contains(file, `id="decisions"`) || !strings.Contains(file, `id="explorer"`) {
		t.Error("of one row there is something to decide, or nothing to explore")
	}
	in.Report.Configurations = nil
	if file := string(pageOf(t, in)); strings.Contains(file, `id="explorer"`) {
		t.Error("there is something to explore without a row")
	}
}
