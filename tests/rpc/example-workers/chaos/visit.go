// Built into the example worker by tests: two more handlers, `visit` and `deaf` (see visit.ts).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

func init() { handlers["visit"], handlers["deaf"] = visit, deaf }

func deaf(_ context.Context, run *Run) (any, error) {
	var payload struct {
		Ms int `json:"ms"`
	}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, err
	}
	return payload, pause(context.Background(), payload.Ms)
}

func visit(ctx context.Context, run *Run) (any, error) {
	var payload struct {
		To     int  `json:"to"`
		StepMs int  `json:"step_ms"`
		Port   int  `json:"port"`
		Saves  bool `json:"saves"`
	}
	if err := json.Unmarshal(run.Payload, &payload); err != nil {
		return nil, err
	}
	startedAt := 0
	if len(run.Checkpoint) > 0 {
		if err := json.Unmarshal(run.Checkpoint, &startedAt); err != nil {
			return nil, err
		}
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", payload.Port))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	// A handler that does not listen costs the worker its process.
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	answers := bufio.NewReader(connection)
	say := func(word string, at int) error {
		who := map[string]any{"word": word, "at": at, "run_id": run.RunID, "epoch": run.Epoch, "visitor": os.Getenv("VISITOR")}
		line, err := json.Marshal(who)
		if err != nil {
			return err
		}
		if !run.IsHeld() {
			return errors.New("the run is not held any more")
		}
		if _, err := connection.Write(append(line, '\n')); err != nil {
			return err
		}
		answer, err := answers.ReadString('\n')
		if err == nil && strings.TrimSpace(answer) != "ok" {
			err = fmt.Errorf("the receiver answers %s", answer)
		}
		return err
	}
	if err := say("begin", startedAt); err != nil {
		return nil, err
	}
	for at := startedAt + 1; at <= payload.To; at++ {
		if err := pause(ctx, payload.StepMs); err != nil {
			return nil, err
		}
		if err := say("step", at); err != nil {
			return nil, err
		}
		if !payload.Saves {
			continue
		}
		if err := run.SaveCheckpoint(ctx, at); err != nil {
			return nil, err
		}
		if err := say("saved", at); err != nil {
			return nil, err
		}
	}
	if err := say("end", payload.To); err != nil {
		return nil, err
	}
	return map[string]int{"visited": payload.To, "started_at": startedAt}, nil
}
