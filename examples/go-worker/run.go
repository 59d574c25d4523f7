package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	pb "carillon.example/go-worker/carillon/worker/v1"
)

const (
	checkpointBytesMax = 256 * 1024
	resultBytesMax     = 64 * 1024
	errorLengthMax     = 4000
	// How long a handler has after its context is done.
	grace      = 2 * time.Second
	shownAfter = 250 * time.Millisecond
)

// Handler does the work of a run. When its context is done it must return: a goroutine cannot be stopped from outside, and keeps its slot
// until it returns.
type Handler func(ctx context.Context, run *Run) (any, error)

// HandlerError is returned by a handler when trying again cannot help, or must wait. Any other error is tried again.
type HandlerError struct {
	Message    string
	Final      bool
	RetryAfter time.Duration
	Result     any
}

func (e *HandlerError) Error() string { return e.Message }

// Run is what a handler sees of its run.
type Run struct {
	JobID string
	// The same for every attempt: hand it on to whatever must not happen twice.
	RunID   string
	Attempt uint32
	// Grows each time the run is handed out: a store that remembers the highest one refuses what an older attempt writes.
	Epoch       uint32
	ScheduledAt time.Time
	Namespace   string
	Payload     json.RawMessage
	// What an earlier attempt, or this one, saved last; empty when there is nothing.
	Checkpoint json.RawMessage
	execution  *execution
}

// SaveCheckpoint returns when the value is durable. It fails when it is too large, or the run is not this worker's any more.
func (r *Run) SaveCheckpoint(ctx context.Context, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return &HandlerError{Message: "the checkpoint is not JSON: " + err.Error(), Final: true}
	}
	if len(text) > checkpointBytesMax {
		return &HandlerError{Message: fmt.Sprintf("the checkpoint is larger than %d bytes", checkpointBytesMax), Final: true}
	}
	if err := r.execution.worker.saveCheckpoint(ctx, r.execution, string(text)); err != nil {
		return err
	}
	r.Checkpoint = text
	return nil
}

// Progress is shown while the run goes on: from 0 to 100, and a few words.
func (r *Run) Progress(percent float64, message string) {
	r.execution.worker.toldProgress(r.execution, min(max(percent, 0), 100), message)
}

// Log writes a line to the standard output of the run.
func (r *Run) Log(format string, args ...any) {
	r.execution.worker.toldOutput(r.execution, pb.OutputStream_OUTPUT_STREAM_UNSPECIFIED, fmt.Appendf(nil, format+"\n", args...))
}

// LogError writes a line to the standard error of the run.
func (r *Run) LogError(format string, args ...any) {
	r.execution.worker.toldOutput(r.execution, pb.OutputStream_OUTPUT_STREAM_STDERR, fmt.Appendf(nil, format+"\n", args...))
}

// IsHeld is to be asked right before an effect that must not happen beside the next attempt's.
func (r *Run) IsHeld() bool {
	return r.execution.ctx.Err() == nil && r.execution.worker.isTrusted()
}

// key is one run of one lease.
type key struct {
	lease    string
	position uint32
}

// assigned is one handing-out of a run.
type assigned struct {
	key
	epoch   uint32
	handler string
	timeout time.Duration
	secrets []string
	run     *Run
}

// stopError says why a run was told to stop; it decides what the run is reported as.
type stopError struct {
	kind pb.OutcomeKind
	text string
}

func (e *stopError) Error() string { return e.text }

// execution is a run that this worker executes. What is not constant is guarded by the worker's lock.
type execution struct {
	assigned
	worker    *Worker
	ctx       context.Context
	cancel    context.CancelFunc
	forms     [][]byte
	startedAt time.Time
	stop      *stopError
	masks     map[pb.OutputStream]*streamMask
	isShown   bool
	// How often the guard found the worker without trust while this ran.
	untrustedTurns int
	// Its end is told, or of no interest: what it says is dropped.
	isClosed bool
	// The run is not this worker's any more: its end is told to nobody.
	isDropped bool
}

// requestStop is called with the worker's lock. The first reason counts, but a cancel overrules the others.
func (e *execution) requestStop(kind pb.OutcomeKind, text string) {
	if e.stop == nil || kind == pb.OutcomeKind_OUTCOME_KIND_CANCELLED {
		e.stop = &stopError{kind, text}
	}
	e.cancel()
}

type answer struct {
	result any
	err    error
}

func (e *execution) call(handler Handler) (given answer) {
	defer func() {
		if problem := recover(); problem != nil {
			e.run.LogError("panic: %v\n%s", problem, debug.Stack())
			given = answer{err: fmt.Errorf("panic: %v", problem)}
		}
	}()
	if !json.Valid(e.run.Payload) {
		return answer{err: &HandlerError{Message: "the payload is not valid JSON", Final: true}}
	}
	result, err := handler(e.ctx, e.run)
	return answer{result, err}
}

// outcome is called with the worker's lock.
func (e *execution) outcome(given answer) *pb.Outcome {
	isCancelled := e.stop != nil && e.stop.kind == pb.OutcomeKind_OUTCOME_KIND_CANCELLED
	// A handler that finished although it was told to stop has finished: only a cancel overrules that.
	if e.stop != nil && (isCancelled || given.err != nil) {
		return &pb.Outcome{Position: e.position, Kind: e.stop.kind, Error: e.stop.text}
	}
	if given.err == nil {
		return &pb.Outcome{Position: e.position, Kind: pb.OutcomeKind_OUTCOME_KIND_SUCCESS, Result: e.resultText(given.result)}
	}
	outcome := &pb.Outcome{Position: e.position, Kind: pb.OutcomeKind_OUTCOME_KIND_FAILED, Retryable: true}
	outcome.Error = e.errorText(given.err)
	var handlerError *HandlerError
	if errors.As(given.err, &handlerError) {
		outcome.Retryable = !handlerError.Final
		outcome.RetryAfterMs = uint64(max(0, handlerError.RetryAfter.Milliseconds()))
		outcome.Result = e.resultText(handlerError.Result)
	}
	return outcome
}

func (e *execution) errorText(err error) string {
	text := []rune(strings.ReplaceAll(strings.ToValidUTF8(string(masked([]byte(err.Error()), e.forms)), "\ufffd"), "\x00", ""))
	return string(text[:min(len(text), errorLengthMax)])
}

func (e *execution) resultText(result any) string {
	if result == nil {
		return ""
	}
	text, err := json.Marshal(result)
	if err != nil {
		return `{"note":"the result is not JSON and was not kept"}`
	}
	if len(text) > resultBytesMax {
		return fmt.Sprintf(`{"note":"the result is larger than %d bytes and was not kept"}`, resultBytesMax)
	}
	return string(masked(text, e.forms))
}
