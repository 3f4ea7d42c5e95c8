package queuetest

import (
	"errors"
	"fmt"
	"time"

	"raglab/engine/fleet"
)

func backupCases() []testCase {
	return []testCase{
		{"backup", backup},
		{"backup wins", backupWins},
		{"backup fails", backupFails},
		{"no backup of single nodes", noBackupOfSingle},
		{"no backup under a limit", noBackupOfLimited},
	}
}

// slow lets a kind be known by quick nodes and claims one that takes long.
func (l *lab) slow(change func(*fleet.Node)) (fleet.RunID, *fleet.Claim) {
	l.Helper()
	var nodes []fleet.Node
	for i := range 5 {
		nodes = append(nodes, node(fmt.Sprint("quick", i)))
	}
	s := node("s")
	s.Single, s.Priority = false, 4
	if change != nil {
		change(&s)
	}
	sub := submission(append(nodes, s, node("t", "s"))...)
	sub.Limits = map[string]int{"api": 2}
	run := l.submit(sub)
	for range 5 {
		c := l.claim(0)
		r := result(c.Address, c.Address)
		r.Wall = 20 * time.Millisecond
		l.finishWith(0, c, r)
	}
	return run, l.claimNode(0, "s")
}

// An idle worker is given what another is slow at; the first to finish wins.
func backup(l *lab) {
	run, first := l.slow(nil)
	second := l.claimNode(1, "s")
	if !second.Again || second.Token == first.Token {
		l.Errorf("the second claim is %+v", second)
	}
	l.claimNone(1)
	for w, c := range []*fleet.Claim{first, second} {
		if err := l.Workers[w].Renew(l.soon(), c); err != nil {
			l.Errorf("renew claim %d: %v", w, err)
		}
	}
	l.finish(0, first)
	l.wantLost(1, second)
	l.make(1, "t")
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 7, 0, 0)
}

func backupWins(l *lab) {
	run, first := l.slow(nil)
	l.finish(1, l.claimNode(1, "s"))
	l.wantLost(0, first)
	l.make(1, "t")
	all, _ := l.news(run)
	n := 0
	for _, notice := range all {
		if notice.Node == keyOf("s") {
			n++
		}
	}
	if n != 1 {
		l.Errorf("%d notices of what two made, want 1: %v", n, say(all))
	}
}

// A backup that fails leaves the first claim as it is, and the other way round.
func backupFails(l *lab) {
	run, first := l.slow(nil)
	second := l.claimNode(1, "s")
	l.fail(0, first, fleet.Failure{Text: "no", Class: fleet.StageFailure})
	if err := l.Workers[0].Finish(l.soon(), first, result("s", "s")); !errors.Is(err, fleet.ErrClaimLost) {
		l.Errorf("finish after a failure: %v", err)
	}
	l.finish(1, second)
	l.make(0, "t")
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 7, 0, 0)
}

// Nodes that are single, or that count in a limit, are not backed up.
func noBackupOfSingle(l *lab) { l.noBackup(func(n *fleet.Node) { n.Single = true }) }

func noBackupOfLimited(l *lab) { l.noBackup(func(n *fleet.Node) { n.Limits = []string{"api"} }) }

func (l *lab) noBackup(change func(*fleet.Node)) {
	l.Helper()
	_, first := l.slow(change)
	l.Quiet = max(l.Quiet, 2*Backups().AtLeast)
	l.claimNone(1)
	l.finish(0, first)
}
