package main

import (
	"slices"

	pb "carillon.example/go-worker/carillon/worker/v1"
)

const (
	// A frame holds at most 4 MiB; small ones keep beats moving beside output.
	frameBytes = 256 * 1024
	// What a handler writes beyond this waits in the handler.
	bufferedBytesMax = 1024 * 1024
	missingText      = "Output is missing here: the connection to the server was lost.\n"
)

type end struct {
	key
	epoch                  uint32
	startedAtMs, endedAtMs int64
	outcome                *pb.Outcome
}

type checkpoint struct {
	message *pb.Checkpoint
	answer  chan string
}

// outbox holds what waits to be told to the server, and what was told and not answered: that is told again on the next stream. All of it
// is guarded by the worker's lock.
type outbox struct {
	slotsFreed, slotsFreedTold uint64
	ends                       []*end // until they are settled, in order
	endsToSend                 []*end
	checkpoints                []*checkpoint // until they are answered, in order
	checkpointsToSend          []*checkpoint
	outputs                    []*pb.Output
	buffered                   int
	window                     uint64
	sent                       []*pb.Output // on its way, not taken
	progress                   map[key]*pb.RunProgress
	started                    []*pb.Started
	beat                       *pb.Beat
	capacity                   *pb.Capacity
	leave                      bool // the last word, after everything else
}

// newStream lets everything that was not answered be told again.
func (o *outbox) newStream(window uint64) {
	o.window = window
	o.markMissing()
	o.slotsFreedTold = 0
	o.endsToSend = slices.Clone(o.ends)
	o.checkpointsToSend = slices.Clone(o.checkpoints)
	o.beat = nil
}

func (o *outbox) addEnd(e *end) {
	o.ends = append(o.ends, e)
	o.endsToSend = append(o.endsToSend, e)
}

func (o *outbox) settled(lease string, positions []uint32) {
	isSettled := func(e *end) bool { return e.lease == lease && slices.Contains(positions, e.position) }
	o.ends = slices.DeleteFunc(o.ends, isSettled)
	o.endsToSend = slices.DeleteFunc(o.endsToSend, isSettled)
}

func (o *outbox) addCheckpoint(c *checkpoint) {
	o.checkpoints = append(o.checkpoints, c)
	o.checkpointsToSend = append(o.checkpointsToSend, c)
}

func (o *outbox) checkpointAnswered(sequence uint32, text string) {
	for _, c := range o.checkpoints {
		if c.message.Sequence == sequence {
			c.answer <- text
		}
	}
	isAnswered := func(c *checkpoint) bool { return c.message.Sequence == sequence }
	o.checkpoints = slices.DeleteFunc(o.checkpoints, isAnswered)
	o.checkpointsToSend = slices.DeleteFunc(o.checkpointsToSend, isAnswered)
}

func (o *outbox) addOutput(output *pb.Output) {
	o.outputs = append(o.outputs, output)
	o.buffered += len(output.Bytes)
}

func (o *outbox) hasOutputOf(k key) bool {
	return slices.ContainsFunc(o.outputs, func(output *pb.Output) bool { return isOf(output, k) })
}

func (o *outbox) dropOutputOf(k key) {
	o.outputs = slices.DeleteFunc(o.outputs, func(output *pb.Output) bool {
		if isOf(output, k) {
			o.buffered -= len(output.Bytes)
		}
		return isOf(output, k)
	})
}

func (o *outbox) outputTaken(count uint64) {
	o.window += count
	for count > 0 && len(o.sent) > 0 {
		taken := min(count, uint64(len(o.sent[0].Bytes)))
		o.sent[0].Bytes = o.sent[0].Bytes[taken:]
		if len(o.sent[0].Bytes) == 0 {
			o.sent = o.sent[1:]
		}
		count -= taken
	}
}

// markMissing: nobody knows what of the output on its way has arrived when a stream breaks. The log says so, before what follows.
func (o *outbox) markMissing() {
	marked := map[key]bool{}
	for _, lost := range o.sent {
		k := key{lost.LeaseId, lost.Position}
		if !marked[k] {
			marked[k] = true
			mark := &pb.Output{
				LeaseId: lost.LeaseId, Position: lost.Position, Epoch: lost.Epoch, AtMs: lost.AtMs,
				Stream: pb.OutputStream_OUTPUT_STREAM_SYSTEM, Bytes: []byte(missingText),
			}
			o.outputs = slices.Insert(o.outputs, 0, mark)
			o.buffered += len(mark.Bytes)
		}
	}
	o.sent = nil
}

func isOf(output *pb.Output, k key) bool {
	return output.LeaseId == k.lease && output.Position == k.position
}

// dropLease: it is not the worker's any more, and nothing that is said about it would be taken.
func (o *outbox) dropLease(lease string) {
	isOfLease := func(e *end) bool { return e.lease == lease }
	o.ends = slices.DeleteFunc(o.ends, isOfLease)
	o.endsToSend = slices.DeleteFunc(o.endsToSend, isOfLease)
	for _, c := range slices.Clone(o.checkpoints) {
		if c.message.LeaseId == lease {
			o.checkpointAnswered(c.message.Sequence, "the run is not this worker's any more")
		}
	}
	for _, output := range slices.Clone(o.outputs) {
		if output.LeaseId == lease {
			o.dropOutputOf(key{lease, output.Position})
		}
	}
}

// take answers the next message, or nil. Beats go first, then checkpoints and ends; output takes the rest of the frame.
func (o *outbox) take() *pb.SessionRequest {
	message := &pb.SessionRequest{SlotsFreed: o.slotsFreed, Beat: o.beat, Capacity: o.capacity, Started: o.started}
	for _, progress := range o.progress {
		message.Progress = append(message.Progress, progress)
	}
	hasNews := o.beat != nil || o.capacity != nil || len(o.started)+len(o.progress) > 0 || o.slotsFreed != o.slotsFreedTold
	o.beat, o.capacity, o.started, o.progress, o.slotsFreedTold = nil, nil, nil, map[key]*pb.RunProgress{}, o.slotsFreed
	size := o.takeCheckpoints(message)
	size = o.takeEnds(message, size)
	o.takeOutputs(message, size)
	if !hasNews && len(message.Checkpoints)+len(message.Ended)+len(message.Outputs) == 0 {
		if !o.leave {
			return nil
		}
		o.leave, message.Leave = false, true
	}
	return message
}

func (o *outbox) takeCheckpoints(message *pb.SessionRequest) (size int) {
	for len(o.checkpointsToSend) > 0 && size < frameBytes {
		message.Checkpoints = append(message.Checkpoints, o.checkpointsToSend[0].message)
		size += len(o.checkpointsToSend[0].message.Value)
		o.checkpointsToSend = o.checkpointsToSend[1:]
	}
	return size
}

func (o *outbox) takeEnds(message *pb.SessionRequest, size int) int {
	columns := map[string]*pb.Ended{}
	for len(o.endsToSend) > 0 && size < frameBytes {
		e := o.endsToSend[0]
		o.endsToSend = o.endsToSend[1:]
		ended := columns[e.lease]
		if ended == nil {
			ended = &pb.Ended{LeaseId: e.lease}
			columns[e.lease] = ended
			message.Ended = append(message.Ended, ended)
		}
		ended.Positions = append(ended.Positions, e.position)
		ended.Epochs = append(ended.Epochs, e.epoch)
		ended.StartedAtMs = append(ended.StartedAtMs, e.startedAtMs)
		ended.EndedAtMs = append(ended.EndedAtMs, e.endedAtMs)
		if e.outcome.Kind != pb.OutcomeKind_OUTCOME_KIND_SUCCESS || e.outcome.Result != "" {
			ended.Outcomes = append(ended.Outcomes, e.outcome)
		}
		size += 64 + len(e.outcome.Result) + len(e.outcome.Error)
	}
	return size
}

func (o *outbox) takeOutputs(message *pb.SessionRequest, size int) {
	for len(o.outputs) > 0 && size < frameBytes && o.window > 0 {
		first := o.outputs[0]
		taken := min(len(first.Bytes), int(o.window), frameBytes)
		part := func() *pb.Output {
			return &pb.Output{
				LeaseId: first.LeaseId, Position: first.Position, Epoch: first.Epoch,
				Stream: first.Stream, AtMs: first.AtMs, Bytes: first.Bytes[:taken],
			}
		}
		message.Outputs = append(message.Outputs, part())
		o.sent = append(o.sent, part())
		first.Bytes = first.Bytes[taken:]
		if len(first.Bytes) == 0 {
			o.outputs = o.outputs[1:]
		}
		size += taken
		o.window -= uint64(taken)
		o.buffered -= taken
	}
}
