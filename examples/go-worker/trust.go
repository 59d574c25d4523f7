package main

import "time"

const (
	// The wall clock, since the last answered beat was sent. Further ahead: the machine was suspended, or its clock was set.
	aheadMax = 2 * time.Second
	// What runs then goes on for so long without an answered beat.
	doubtMax = 5 * time.Second
)

// clock is the time by both clocks: the monotonic one stands still while the machine is suspended, the other may be set.
type clock func() (monotonic, wall time.Duration)

var startedAt = time.Now()

func systemClock() (monotonic, wall time.Duration) {
	now := time.Now()
	return now.Sub(startedAt), time.Duration(now.UnixNano())
}

// sent is when a beat was sent, by both clocks.
type sent struct{ monotonic, wall time.Duration }

// trust is for how long the worker may take its runs for its own. It is guarded by the worker's lock.
type trust struct {
	clock clock
	from  sent // the last answered beat
	until time.Duration
	// Others may have been given the runs while the machine was suspended: until the next answered beat.
	isDoubted bool
	onDoubted func()
}

// sent is to be read before a beat is sent.
func (t *trust) sent() sent {
	monotonic, wall := t.clock()
	return sent{monotonic, wall}
}

// renew counts from when the beat was sent: a slow answer must never lengthen the trust.
func (t *trust) renew(beat sent, duration time.Duration) {
	if beat.monotonic+duration > t.until {
		t.from, t.until, t.isDoubted = beat, beat.monotonic+duration, false
	}
}

func (t *trust) end() { t.from, t.until, t.isDoubted = sent{}, 0, false }

func (t *trust) isOver() bool {
	t.compareClocks()
	monotonic, _ := t.clock()
	return monotonic >= t.until
}

func (t *trust) isGiven() bool { return !t.isOver() && !t.isDoubted }

func (t *trust) compareClocks() {
	monotonic, wall := t.clock()
	ahead := (wall - t.from.wall) - (monotonic - t.from.monotonic)
	if t.isDoubted || monotonic >= t.until || ahead <= aheadMax {
		return
	}
	t.isDoubted = true
	// Nothing was suspended for longer than the clocks have parted.
	t.until = min(t.until, max(monotonic+doubtMax, t.until-ahead))
	t.onDoubted()
}
