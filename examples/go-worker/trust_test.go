package main

import (
	"testing"
	"time"
)

// machine has both clocks of one: pass moves them, suspend the wall clock alone.
type machine struct{ monotonic, wall time.Duration }

func (m *machine) pass(d time.Duration)    { m.monotonic += d; m.wall += d }
func (m *machine) suspend(d time.Duration) { m.wall += d }

const trustTime = 12 * time.Second

func trusted() (*machine, *trust, *int) {
	m, doubts := &machine{time.Hour, 500000 * time.Hour}, new(int)
	t := &trust{clock: func() (time.Duration, time.Duration) { return m.monotonic, m.wall }, onDoubted: func() { *doubts++ }}
	t.renew(t.sent(), trustTime)
	return m, t, doubts
}

func expect(t *testing.T, trust *trust, given, over bool) {
	t.Helper()
	if trust.isGiven() != given || trust.isOver() != over {
		t.Fatalf("given %t, over %t; wanted %t, %t", trust.isGiven(), trust.isOver(), given, over)
	}
}

func TestItLastsFromWhenTheBeatWasSent(t *testing.T) {
	m, trust, _ := trusted()
	m.pass(trustTime - 1)
	expect(t, trust, true, false)
	m.pass(1)
	expect(t, trust, false, true)
}

func TestAfterASuspensionItIsDoubtedUntilTheNextAnsweredBeat(t *testing.T) {
	m, trust, doubts := trusted()
	before := trust.sent()
	m.suspend(time.Hour)
	expect(t, trust, false, false)
	trust.renew(before, trustTime+1)
	expect(t, trust, false, false)
	trust.renew(trust.sent(), trustTime+2)
	expect(t, trust, true, false)
	if *doubts != 2 {
		t.Fatalf("%d doubts", *doubts)
	}
}

func TestWithoutAnAnswerWithin5SecondsItIsOver(t *testing.T) {
	m, trust, _ := trusted()
	m.suspend(time.Hour)
	expect(t, trust, false, false)
	m.pass(doubtMax - 1)
	expect(t, trust, false, false)
	m.pass(1)
	expect(t, trust, false, true)
}

func TestAClockThatIsSetBackMakesNoDoubt(t *testing.T) {
	m, trust, doubts := trusted()
	m.suspend(-time.Hour)
	expect(t, trust, true, false)
	if *doubts != 0 {
		t.Fatalf("%d doubts", *doubts)
	}
}

func TestPausesBetweenDialsAreSpread(t *testing.T) {
	shortest, longest := time.Hour, time.Duration(0)
	for range 1000 {
		pause := dialPause(false, trustTime)
		shortest, longest = min(shortest, pause), max(longest, pause)
	}
	if shortest < dialPauseMin || shortest > 500*time.Millisecond || longest < 2500*time.Millisecond || longest > trustTime/4 {
		t.Fatalf("from %s to %s", shortest, longest)
	}
	if pause := dialPause(true, trustTime); pause != dialPauseMin {
		t.Fatalf("%s before the next address", pause)
	}
	if pause := dialPause(false, 0); pause < dialPauseMin || pause > dialPauseMax {
		t.Fatalf("%s before the first welcome", pause)
	}
}
