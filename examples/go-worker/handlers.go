package main

import (
	"context"
	"encoding/json"
	"time"
)

// The handlers that this worker offers, by name. Put your own here.
var handlers = map[string]Handler{
	"resize-image": resizeImage,
	"count":        count,
	"wait":         wait,
	"fail":         fail,
	"echo":         echo,
}

// resizeImage is a sample that does nothing: it answers what it would have made.
func resizeImage(_ context.Context, run *Run) (any, error) {
	payload := struct {
		URL   string `json:"url"`
		Width int    `json:"width"`
	}{"nothing", 640}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, &HandlerError{Message: err.Error(), Final: true}
	}
	run.Log("resize %s to %d", payload.URL, payload.Width)
	return map[string]int{"width": payload.Width, "height": payload.Width * 3 / 4}, nil
}

// count counts to `to`, one step each `step_ms`, and goes on where an earlier attempt was stopped.
func count(ctx context.Context, run *Run) (any, error) {
	payload := struct {
		To     int `json:"to"`
		StepMs int `json:"step_ms"`
	}{10, 1000}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, &HandlerError{Message: err.Error(), Final: true}
	}
	startedAt := 0
	if len(run.Checkpoint) > 0 {
		if err := json.Unmarshal(run.Checkpoint, &startedAt); err != nil {
			return nil, err
		}
	}
	for number := startedAt + 1; number <= payload.To; number++ {
		if err := pause(ctx, payload.StepMs); err != nil {
			return nil, err
		}
		run.Log("counted %d", number)
		if err := run.SaveCheckpoint(ctx, number); err != nil {
			return nil, err
		}
		run.Progress(100*float64(number)/float64(payload.To), "")
	}
	return map[string]int{"counted": payload.To, "started_at": startedAt}, nil
}

// wait waits for `ms` milliseconds, unless it is told to stop.
func wait(ctx context.Context, run *Run) (any, error) {
	payload := struct {
		Ms int `json:"ms"`
	}{1000}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, &HandlerError{Message: err.Error(), Final: true}
	}
	return map[string]int{"waited_ms": payload.Ms}, pause(ctx, payload.Ms)
}

// fail fails, for good when the payload says `"retryable": false`.
func fail(_ context.Context, run *Run) (any, error) {
	payload := struct {
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	}{"it failed", true}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, &HandlerError{Message: err.Error(), Final: true}
	}
	return nil, &HandlerError{Message: payload.Message, Final: !payload.Retryable}
}

// echo writes its payload to the log and answers it.
func echo(_ context.Context, run *Run) (any, error) {
	var payload struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, &HandlerError{Message: err.Error(), Final: true}
	}
	run.Log("%s", payload.Text)
	run.LogError("attempt %d, epoch %d", run.Attempt, run.Epoch)
	return run.Payload, nil
}

func pause(ctx context.Context, ms int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	}
}
