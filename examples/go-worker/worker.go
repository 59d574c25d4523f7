package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	pb "carillon.example/go-worker/carillon/worker/v1"
	"google.golang.org/grpc/credentials"
)

const (
	// How long the end of a run waits for its output when the server takes none.
	outputTimeMax = 5 * time.Second
	rememberedMax = 10_000
	guardPause    = 100 * time.Millisecond
	// How long the worker waits for the server to end the stream after its last word.
	leaveTimeMax = 5 * time.Second
	notTrusted   = "the worker had not been heard for too long to be sure that the run still was its own"
	shutDown     = "the worker was shut down"
	didNotStop   = "; the handler did not stop"
)

// Options of a worker.
type Options struct {
	Servers []string // host:port, tried one after the other
	Key     string
	Slots   int
	Name    string
	Labels  map[string]string
	Drain   time.Duration
	TLS     credentials.TransportCredentials
}

// Worker executes runs, and keeps the rules at the top of workers.proto. Its stream to a server is in session.go.
type Worker struct {
	options  Options
	handlers map[string]Handler
	bootID   string
	changed  chan struct{} // something waits to be sent
	finished chan struct{} // it is drained

	mu            sync.Mutex
	room          *sync.Cond // there is room for output, or a run was told to stop
	outbox        outbox
	workerID      string
	session       uint32 // the number of streams under this id
	isConnected   bool
	executions    map[key]*execution // until their handlers have returned
	ending        map[key]*execution // returned, and the end is not in the outbox yet
	handedOut     map[handingOut]bool
	handedOutList []handingOut
	waiting       []*assigned // assigned while the worker was not trusted
	sequence      uint32      // of checkpoints
	cancels       []remembered
	beats         map[uint32]sent
	beatSoon      chan struct{}
	trust         trust
	trustTime     time.Duration // what an answered beat is good for
	isDraining    bool          // it leaves
	hasLeft       bool          // it has said its last word: what still comes, the server gives to others
	// Somebody wants it to take no more runs; the servers see to it.
	isAskedToDrain bool
}

// remembered is a cancel of a run that the worker does not have.
type remembered struct {
	runID string
	at    time.Time
}

type handingOut struct {
	key
	epoch uint32
}

// NewWorker makes one; Run starts it.
func NewWorker(options Options, handlers map[string]Handler) *Worker {
	w := &Worker{
		options: options, handlers: handlers, bootID: newUUID(), workerID: newUUID(),
		changed: make(chan struct{}, 1), finished: make(chan struct{}),
		executions: map[key]*execution{}, ending: map[key]*execution{}, handedOut: map[handingOut]bool{},
		beatSoon: make(chan struct{}, 1),
	}
	w.trust = trust{clock: systemClock, onDoubted: w.doubted}
	w.room = sync.NewCond(&w.mu)
	w.outbox.progress = map[key]*pb.RunProgress{}
	return w
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// tell is called with the lock: something waits to be sent.
func (w *Worker) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Run works until the worker is drained. It answers whether every end was told and recorded.
func (w *Worker) Run() (bool, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go w.guardTrust(ctx)
	refused := make(chan error, 1)
	go func() { refused <- w.dialForever(ctx) }()
	select {
	case err := <-refused:
		return false, err
	case <-w.finished:
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.outbox.ends) == 0, nil
	}
}

// Drain takes nothing more; what has not ended in time is given back. A second call gives everything back at once.
func (w *Worker) Drain(within time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isDraining {
		w.stopAll(shutDown)
		return
	}
	w.isDraining = true
	say("draining; %d runs go on for at most %s", len(w.executions), within)
	w.outbox.capacity = &pb.Capacity{Draining: true}
	w.startWaiting()
	w.tell()
	time.AfterFunc(within, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stopAll(shutDown)
	})
	go w.finish()
}

// finish lets the worker leave when every end is settled, or when nobody would believe it any more.
func (w *Worker) finish() {
	for ; ; time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		isBusy := len(w.executions)+len(w.ending) > 0
		isTold := len(w.outbox.ends) == 0 || w.trust.isOver()
		if !isBusy && isTold {
			break
		}
		w.mu.Unlock()
	}
	// The stream ends when the server has given to others what it had claimed for this worker.
	isConnected := w.isConnected
	w.hasLeft, w.outbox.leave = true, isConnected
	w.tell()
	w.mu.Unlock()
	for until := time.Now().Add(leaveTimeMax); isConnected && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		isConnected = w.isConnected
		w.mu.Unlock()
	}
	close(w.finished)
}

// stopAll is called with the lock.
func (w *Worker) stopAll(reason string) {
	for _, e := range w.executions {
		e.requestStop(pb.OutcomeKind_OUTCOME_KIND_RETURNED, reason)
	}
	w.room.Broadcast()
}

func (w *Worker) isTrusted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trust.isGiven()
}

// doubted is called with the lock: the next beat cannot wait.
func (w *Worker) doubted() {
	say("the wall clock ran ahead: the machine was suspended, or its clock was set; nothing starts before the next beat")
	select {
	case w.beatSoon <- struct{}{}:
	default:
	}
}

func (w *Worker) guardTrust(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(guardPause) {
		w.mu.Lock()
		if w.trust.isOver() {
			w.stopAll(notTrusted)
			for _, e := range w.executions {
				// Counted and not timed: a handler that listens does nothing while the whole process stands still.
				e.untrustedTurns++
				if e.untrustedTurns > int(grace/guardPause) {
					// Others are given the run soon. The end of the process is the only way to stop a handler that does not listen.
					say("the worker is not trusted any more, and a handler did not stop: the process ends")
					os.Exit(1)
				}
			}
		}
		w.mu.Unlock()
	}
}

// startWaiting is called with the lock. Nothing starts while the worker is not trusted; what cannot be taken goes back at once.
func (w *Worker) startWaiting() {
	if !w.trust.isGiven() && !w.isDraining {
		return
	}
	waiting := w.waiting
	w.waiting = nil
	for _, a := range waiting {
		once := handingOut{a.key, a.epoch}
		if w.handedOut[once] {
			continue
		}
		w.remember(once)
		handler := w.handlers[a.handler]
		returned := pb.OutcomeKind_OUTCOME_KIND_RETURNED
		switch {
		case w.isCancelled(a.run.RunID):
			w.refuse(a, pb.OutcomeKind_OUTCOME_KIND_CANCELLED, "cancelled before it started")
		case handler == nil:
			w.refuse(a, returned, fmt.Sprintf("this worker does not offer the handler %q", a.handler))
		case w.isDraining:
			w.refuse(a, returned, shutDown)
		case len(w.executions) >= w.options.Slots:
			w.refuse(a, returned, "every slot of the worker is in use")
		default:
			w.start(a, handler)
		}
	}
}

func (w *Worker) remember(once handingOut) {
	w.handedOut[once] = true
	w.handedOutList = append(w.handedOutList, once)
	if len(w.handedOutList) > rememberedMax {
		delete(w.handedOut, w.handedOutList[0])
		w.handedOutList = w.handedOutList[1:]
	}
}

// cancelRuns is called with the lock. Those that it does not have are remembered: a cancel is more urgent than its run, and may come
// first.
func (w *Worker) cancelRuns(cancels []*pb.Cancel) {
	for _, cancelled := range cancels {
		isHere := false
		for _, e := range w.executions {
			if e.run.RunID == cancelled.RunId {
				isHere = true
				e.requestStop(pb.OutcomeKind_OUTCOME_KIND_CANCELLED, "cancelled while running")
				w.room.Broadcast()
			}
		}
		if !isHere {
			w.cancels = append(w.cancels, remembered{cancelled.RunId, time.Now()})
		}
	}
	for len(w.cancels) > rememberedMax || len(w.cancels) > 0 && time.Since(w.cancels[0].at) > cancelTime {
		w.cancels = w.cancels[1:]
	}
}

// isCancelled is called with the lock.
func (w *Worker) isCancelled(runID string) bool {
	return slices.ContainsFunc(w.cancels, func(c remembered) bool { return c.runID == runID && time.Since(c.at) <= cancelTime })
}

// stuck is called with the lock: handlers that have not returned though their ends were told.
func (w *Worker) stuck() (count uint32) {
	for _, e := range w.executions {
		if e.isClosed {
			count++
		}
	}
	return count
}

func (w *Worker) refuse(a *assigned, kind pb.OutcomeKind, reason string) {
	outcome := &pb.Outcome{Position: a.position, Kind: kind, Error: reason}
	w.outbox.slotsFreed++
	w.outbox.addEnd(&end{key: a.key, epoch: a.epoch, endedAtMs: time.Now().UnixMilli(), outcome: outcome})
	w.tell()
}

func (w *Worker) start(a *assigned, handler Handler) {
	e := &execution{
		assigned: *a, worker: w, forms: formsOf(a.secrets), startedAt: time.Now(), masks: map[pb.OutputStream]*streamMask{},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.run.execution = e
	w.executions[e.key] = e
	go w.execute(e, handler)
}

func (w *Worker) execute(e *execution, handler Handler) {
	defer e.cancel()
	shown := time.AfterFunc(shownAfter, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !e.isClosed {
			w.toldStarted(e)
		}
	})
	defer shown.Stop()
	if e.timeout > 0 {
		limit := time.AfterFunc(e.timeout, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			e.requestStop(pb.OutcomeKind_OUTCOME_KIND_TIMED_OUT, fmt.Sprintf("ran longer than %g s", e.timeout.Seconds()))
			w.room.Broadcast()
		})
		defer limit.Stop()
	}
	returned := make(chan answer, 1)
	go func() { returned <- e.call(handler) }()
	select {
	case given := <-returned:
		w.end(e, given, true)
		return
	case <-e.ctx.Done():
	}
	select {
	case given := <-returned:
		w.end(e, given, true)
	case <-time.After(grace):
		// Its end is told; its slot stays in use until the handler returns.
		w.end(e, answer{err: errors.New(didNotStop)}, false)
		<-returned
		w.mu.Lock()
		w.free(e)
		w.mu.Unlock()
	}
}

// free is called with the lock: the handler has returned.
func (w *Worker) free(e *execution) {
	delete(w.executions, e.key)
	w.outbox.slotsFreed++
	w.tell()
}

// end tells how a run ended, after the last of its output.
func (w *Worker) end(e *execution, given answer, hasReturned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	endedAtMs := time.Now().UnixMilli()
	outcome := e.outcome(given)
	if !hasReturned {
		outcome.Error += didNotStop
	}
	for stream, mask := range e.masks {
		w.addOutput(e, stream, mask.end())
	}
	e.isClosed = true
	w.ending[e.key] = e
	if hasReturned {
		w.free(e)
	}
	for waited := time.Duration(0); w.outbox.hasOutputOf(e.key) && waited < outputTimeMax; {
		w.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		w.mu.Lock()
		if w.isConnected {
			waited += 10 * time.Millisecond
		}
	}
	w.outbox.dropOutputOf(e.key)
	w.room.Broadcast()
	delete(w.ending, e.key)
	if !e.isDropped {
		w.outbox.addEnd(&end{e.key, e.epoch, e.startedAt.UnixMilli(), endedAtMs, outcome})
		w.tell()
	}
}

// dropLease is called with the lock: the lease is not this worker's any more.
func (w *Worker) dropLease(lease string) {
	kept := w.waiting[:0]
	for _, a := range w.waiting {
		if a.lease != lease {
			kept = append(kept, a)
		}
	}
	w.waiting = kept
	w.outbox.dropLease(lease)
	for _, runs := range []map[key]*execution{w.executions, w.ending} {
		for k, e := range runs {
			if k.lease == lease {
				e.isDropped = true
				e.requestStop(pb.OutcomeKind_OUTCOME_KIND_RETURNED, notTrusted)
			}
		}
	}
	w.room.Broadcast()
}

// toldStarted is called with the lock.
func (w *Worker) toldStarted(e *execution) {
	e.isShown = true
	started := &pb.Started{LeaseId: e.lease, Position: e.position, Epoch: e.epoch, StartedAtMs: e.startedAt.UnixMilli()}
	w.outbox.started = append(w.outbox.started, started)
	w.tell()
}

func (w *Worker) toldOutput(e *execution, stream pb.OutputStream, chunk []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.isClosed || e.isDropped {
		return
	}
	if e.masks[stream] == nil {
		e.masks[stream] = &streamMask{forms: e.forms}
	}
	w.addOutput(e, stream, e.masks[stream].write(chunk))
	// A run that was told to stop does not wait: it has to end.
	for w.outbox.buffered > bufferedBytesMax && e.ctx.Err() == nil {
		w.room.Wait()
	}
}

// addOutput is called with the lock.
func (w *Worker) addOutput(e *execution, stream pb.OutputStream, chunk []byte) {
	if len(chunk) == 0 || e.isDropped {
		return
	}
	w.outbox.addOutput(&pb.Output{
		LeaseId: e.lease, Position: e.position, Epoch: e.epoch, Stream: stream, AtMs: time.Now().UnixMilli(), Bytes: chunk,
	})
	w.tell()
}

func (w *Worker) toldProgress(e *execution, percent float64, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.isClosed || e.isDropped {
		return
	}
	w.outbox.progress[e.key] = &pb.RunProgress{
		LeaseId: e.lease, Position: e.position, Epoch: e.epoch, Percent: percent, Message: string(masked([]byte(message), e.forms)),
	}
	w.tell()
}

func (w *Worker) saveCheckpoint(ctx context.Context, e *execution, value string) error {
	w.mu.Lock()
	if e.isClosed || e.isDropped {
		w.mu.Unlock()
		return errors.New(notTrusted)
	}
	w.sequence++
	message := &pb.Checkpoint{Sequence: w.sequence, LeaseId: e.lease, Position: e.position, Epoch: e.epoch, Value: value}
	saved := &checkpoint{message, make(chan string, 1)}
	w.outbox.addCheckpoint(saved)
	w.tell()
	w.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case text := <-saved.answer:
		if text != "" {
			return fmt.Errorf("the checkpoint was not kept: %s", text)
		}
		return nil
	}
}
