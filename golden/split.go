package golden

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Part is one of the two parts of a split set.
type Part string

// The parts: parameters are fitted on dev and results come from test. A question
// split by tag may be in neither.
const (
	Dev     Part = "dev"
	Test    Part = "test"
	Neither Part = ""
)

// Split says how questions are divided into dev and test.
type Split struct {
	// By is "hash", by the question's id, or "tag".
	By string
	// Dev is the share of dev questions, from 0 to 1, by hash.
	Dev float64
	// Salt gives another division for each text, by hash.
	Salt string
	// DevTag and TestTag mark the questions, by tag. Empty they are
	// "split:dev" and "split:test".
	DevTag, TestTag string
}

// Part tells where a question belongs. It does not depend on what other
// questions there are.
//
// By hash: the first 8 bytes of the SHA-256 of the id, read as a big-endian
// number and divided by 2⁶⁴, are a fraction below 1; the question is a dev question
// when the fraction is below Dev. With a salt the hash is that of the salt, a zero
// byte and the id.
func (s Split) Part(q Question) Part {
	if s.By == "tag" {
		return s.tagged(q)
	}
	text := q.ID
	if s.Salt != "" {
		text = s.Salt + "\x00" + q.ID
	}
	sum := sha256.Sum256([]byte(text))
	// 53 bits make a fraction that is exact and below 1.
	fraction := float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
	if fraction < s.Dev {
		return Dev
	}
	return Test
}

func (s Split) tags() (dev, test string) {
	dev, test = s.DevTag, s.TestTag
	if dev == "" {
		dev = "split:dev"
	}
	if test == "" {
		test = "split:test"
	}
	return dev, test
}

func (s Split) tagged(q Question) Part {
	devTag, testTag := s.tags()
	dev, test := slices.Contains(q.Tags, devTag), slices.Contains(q.Tags, testTag)
	switch {
	case dev == test:
		return Neither
	case dev:
		return Dev
	}
	return Test
}

// Divide returns the two parts of a set, in file order. It returns [Problems]
// when a question split by tag carries both tags or none, or a part is empty.
func (s Split) Divide(set *Set) (dev, test *Set, err error) {
	dev, test = new(Set), new(Set)
	var problems Problems
	devTag, testTag := s.tags()
	for _, q := range set.Questions {
		switch s.Part(q) {
		case Dev:
			dev.Questions = append(dev.Questions, q)
		case Test:
			test.Questions = append(test.Questions, q)
		case Neither:
			have := "neither"
			if slices.Contains(q.Tags, devTag) {
				have = "both"
			}
			problems = append(problems, q.problem("give it one of the two", "it has %s of the tags %s and %s", have, devTag, testTag))
		}
	}
	if len(problems) == 0 {
		problems = s.emptyPart(set, dev, test)
	}
	return dev, test, problems.err()
}

func (s Split) emptyPart(set, dev, test *Set) Problems {
	for _, p := range []struct {
		name Part
		part *Set
	}{{Dev, dev}, {Test, test}} {
		if len(p.part.Questions) > 0 {
			continue
		}
		detail := "tag some questions for it"
		if s.By != "tag" {
			detail = fmt.Sprintf("the share of dev questions is %v; change it or the salt", s.Dev)
		}
		return Problems{{Summary: fmt.Sprintf("none of the %d questions is a %s question", len(set.Questions), p.name), Detail: detail}}
	}
	return nil
}
