package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"raglab/golden"
)

// pick returns the first of the names that is there.
func (c *checkout) pick(what string, names []string) (member, error) {
	for _, name := range names {
		at, ok := slices.BinarySearchFunc(c.members, name, func(m member, name string) int { return strings.Compare(m.name, name) })
		if ok {
			return c.members[at], nil
		}
	}
	return member{}, &Error{
		Path: c.s.from(), Problem: "no file with the " + what, Hint: "looked for " + strings.Join(plainNames(names), ", "), Err: fs.ErrNotExist,
	}
}

func plainNames(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return len(names) > 1 && (strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst"))
	})
}

// questions reads the judged questions, and what there is to warn of.
func (s *git) questions(ctx context.Context) (set *golden.Set, said []string, err error) {
	c, err := s.openPinned(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var problems []golden.Problem
	switch {
	case s.GitParams.Questions != "":
		text, at, err := c.text("questions", s.GitParams.Questions)
		if err != nil {
			return nil, nil, err
		}
		set, problems, err = golden.Read(at, text, golden.Auto, golden.ReadOptions{Drafts: s.Drafts})
		return set, problemTexts(problems), inputProblem(at, err)
	case s.Queries != "":
		queries, at, err := c.text("queries", s.Queries)
		if err != nil {
			return nil, nil, err
		}
		qrels, atQrels, err := c.text("judgements", s.Qrels)
		if err != nil {
			return nil, nil, err
		}
		set, problems, err = golden.ParseJudged(at, queries, atQrels, qrels)
		return set, problemTexts(problems), inputProblem(at, err)
	case s.Layout == "beir":
		return c.beirQuestions(ctx)
	}
	return nil, nil, &Error{Path: s.from(), Problem: "brings no questions", Hint: "set questions, or queries and qrels"}
}

// inputProblem gives what is wrong with questions the shape of a source's error.
func inputProblem(at string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Path: at, Problem: err.Error(), Err: err}
}

func problemTexts(problems []golden.Problem) []string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return texts
}

// maxQuestions bounds a file of questions.
const maxQuestions = 512 << 20

func (c *checkout) text(what, name string) (text, at string, err error) {
	m, err := c.pick(what, []string{name})
	if err != nil {
		return "", "", err
	}
	err = c.read(m, func(_ string, r io.Reader) error {
		raw, err := io.ReadAll(io.LimitReader(r, maxQuestions+1))
		if err == nil && len(raw) > maxQuestions {
			err = &Error{Path: m.at, Problem: fmt.Sprintf("is larger than %d bytes", maxQuestions)}
		}
		text = string(raw)
		return err
	})
	return text, m.at, err
}

func (c *checkout) beirQuestions(ctx context.Context) (*golden.Set, []string, error) {
	qrels, err := c.pick("judgements", qrelNames(c.s.Split))
	if err != nil {
		return nil, nil, err
	}
	queries, err := c.pick("queries", queryNames(c.s.Split))
	if err != nil {
		return nil, nil, err
	}
	var judged *judgements
	err = c.read(qrels, func(at string, r io.Reader) (err error) {
		judged, err = readQrels(ctx, at, r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var questions []golden.Question
	var unjudged tally
	err = c.read(queries, func(at string, r io.Reader) (err error) {
		questions, unjudged, err = readQueries(ctx, at, r, judged)
		return err
	})
	return &golden.Set{Questions: questions}, judged.warnings(c.s.Split, unjudged), err
}
