package gate

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The elements of JUnit's report that CI servers read, as the Ant task writes it and
// Jenkins and GitLab describe it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is the outcome as a JUnit report: a suite for each kind of check with a case
// for each check. A drop that failed lists its questions. The time is that of the
// results.
func (o *Outcome) JUnit(generated time.Time) ([]byte, error) {
	doc := junitSuites{Name: "raglab gate", Tests: len(o.Checks), Failures: o.Failed, Time: "0"}
	for _, kind := range Kinds {
		s := junitSuite{Name: o.Experiment + " " + kind, Time: "0", Timestamp: generated.UTC().Format("2006-01-02T15:04:05")}
		for _, c := range o.Checks {
			if c.Kind != kind {
				continue
			}
			s.Tests++
			if !c.Passed {
				s.Failures++
			}
			s.Cases = append(s.Cases, o.junitCase(c))
		}
		if s.Tests > 0 {
			doc.Suites = append(doc.Suites, s)
		}
	}
	b, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func (o *Outcome) junitCase(c Check) junitCase {
	out := junitCase{Class: "raglab." + o.Experiment + "." + c.Kind, Name: c.Metric + " of " + c.Row, Time: "0"}
	if c.Passed {
		out.Output = c.Text
		return out
	}
	out.Failure = &junitFailure{Type: c.Kind, Message: c.Text}
	var lines []string
	for _, q := range c.Regressed {
		lines = append(lines, fmt.Sprintf("%s: %s → %s", q.Question, figure(q.Old), figure(q.New)))
	}
	out.Failure.Text = strings.Join(lines, "\n")
	return out
}
