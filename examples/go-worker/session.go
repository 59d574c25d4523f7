package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	pb "carillon.example/go-worker/carillon/worker/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	protocol      = 1
	version       = "0.1.0"
	frameBytesMax = 4 * 1024 * 1024
	dialPauseMin  = 100 * time.Millisecond
	dialPauseMax  = 5 * time.Second
	// The other side is dead when a beat, or a hello, has no answer for so long.
	answerTimeMax = 5 * time.Second
	// An address that refused the worker is not dialled again before; the others are, for runs do not wait for their worker so long.
	refusedPause = 30 * time.Second
	// So many pauses fit into the time that the worker is trusted for.
	pausesPerTrust = 4
	// How long a cancel is remembered whose run the worker does not have: it may have come before its run.
	cancelTime = 60 * time.Second
)

// refusedError: the server will not have this worker, whatever it does.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

// goodbyeError: the server ended the stream and wants the worker to dial again.
type goodbyeError struct {
	reason string
	after  time.Duration
}

func (e *goodbyeError) Error() string { return "the server ended the stream: " + e.reason }

var errBuried = errors.New("the worker was silent for too long; it starts over under a new id")

// What the libraries say, and what to do.
var hints = [][2]string{
	{"certificate has expired", "the certificate of the server must be renewed"},
	{"signed by unknown authority", "--tls-ca names the authority that signed the certificate of the server"},
	{"does not look like a TLS handshake", "the server does not speak TLS: give no --tls-ca, and no https:// in --url"},
}

// A server with TLS closes a connection in clear without a word; one that was killed does so as well, after it has answered.
var unansweredHints = append(slices.Clone(hints),
	[2]string{"reading server preface", "a server with TLS is dialled by https:// in --url, or with --tls-ca"})

var digits = regexp.MustCompile(`\d+`)

// problemOf says what to do as well, where it is known. hasAnswered: the server, at some time.
func problemOf(err error, hasAnswered bool) string {
	return fmt.Sprintf("%v%s", err, hintOf(err, hasAnswered))
}

func hintOf(err error, hasAnswered bool) string {
	known := unansweredHints
	if hasAnswered {
		known = hints
	}
	for _, hint := range known {
		if err != nil && strings.Contains(err.Error(), hint[0]) {
			return " (" + hint[1] + ")"
		}
	}
	return ""
}

// refusal: when an address refused the worker, and why.
type refusal struct {
	at     time.Time
	reason string
}

// dialPause is full jitter: many workers whose server is gone do not come to the next one at once. Where that fails, the others follow
// at once.
func dialPause(isWithinRound bool, trusted time.Duration) time.Duration {
	if isWithinRound {
		return dialPauseMin
	}
	longest := dialPauseMax
	if trusted > 0 {
		longest = min(longest, trusted/pausesPerTrust)
	}
	return dialPauseMin + rand.N(max(1, longest-dialPauseMin))
}

// dialForever keeps one stream, to one server after the other. It returns when every one of them refuses the worker.
func (w *Worker) dialForever(ctx context.Context) error {
	wasWelcome := false
	refusals := map[string]refusal{} // by address, since the last welcome
	said := map[string]bool{}        // what was said of addresses since the last welcome
	hasAnswered := map[string]bool{} // by address
	for i, dials := 0, 0; ; i++ {
		address := w.options.Servers[i%len(w.options.Servers)]
		// At least one of the others has not refused it, or all would be asked again.
		if last, isRefused := refusals[address]; isRefused && time.Since(last.at) < refusedPause {
			continue
		}
		delete(refusals, address)
		dials++
		isWelcome, err := w.stream(ctx, address)
		if ctx.Err() != nil {
			return nil
		}
		if isWelcome {
			wasWelcome, dials = true, 0
			clear(refusals)
			clear(said)
			hasAnswered[address] = true
		}
		problem := address + ": " + problemOf(err, hasAnswered[address])
		// Numbers, such as those of ports, make no other problem of it.
		if key := digits.ReplaceAllString(strings.TrimPrefix(problem, address), ""); !said[address+key] {
			say("%s", problem)
			said[address+key] = true
		}
		w.mu.Lock()
		pause := dialPause(dials%len(w.options.Servers) != 0, w.trustTime)
		w.mu.Unlock()
		var refused *refusedError
		var goodbye *goodbyeError
		switch code := status.Code(err); {
		case errors.As(err, &refused):
			return refused
		case errors.As(err, &goodbye):
			pause = max(pause, goodbye.after)
		case code == codes.Unauthenticated || code == codes.PermissionDenied || code == codes.Unimplemented:
			refusals[address] = refusal{time.Now(), status.Convert(err).Message()}
			hasAnswered[address] = true
		}
		if reasons, isByAll := w.refusedByAll(refusals); isByAll {
			if !wasWelcome {
				return &refusedError{reasons}
			}
			clear(refusals)
			pause = refusedPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (w *Worker) refusedByAll(refusals map[string]refusal) (reasons string, isByAll bool) {
	words := make([]string, 0, len(w.options.Servers))
	for _, address := range w.options.Servers {
		last, isRefused := refusals[address]
		if !isRefused {
			return "", false
		}
		words = append(words, address+": "+last.reason)
	}
	return strings.Join(words, "; "), true
}

// stream answers why the stream ended, and whether the server had said welcome.
func (w *Worker) stream(ctx context.Context, address string) (isWelcome bool, err error) {
	credentials := w.options.TLS
	if credentials == nil {
		credentials = insecure.NewCredentials()
	}
	limit := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frameBytesMax))
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials), limit)
	if err != nil {
		return false, err
	}
	defer connection.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	withKey := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+w.options.Key)
	unanswered := time.AfterFunc(answerTimeMax, func() { cancel(errors.New("the server does not answer")) })
	defer unanswered.Stop()
	stream, err := pb.NewWorkerServiceClient(connection).Session(withKey)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	w.mu.Lock()
	beat := w.trust.sent()
	w.mu.Unlock()
	if err := stream.Send(w.hello()); err != nil && !errors.Is(err, io.EOF) {
		return false, causeOf(ctx, err)
	}
	first, err := stream.Recv()
	unanswered.Stop()
	if err != nil {
		return false, causeOf(ctx, err)
	}
	if err := w.welcome(address, first, beat); err != nil {
		return first.Welcome != nil, err
	}
	defer w.disconnected()
	// A stream that is over takes nothing from the outbox beside the next one.
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	tasks.Go(func() { w.send(ctx, stream) })
	tasks.Go(func() { w.beatForever(ctx, cancel, time.Duration(first.Welcome.BeatMs)*time.Millisecond) })
	for {
		message, err := stream.Recv()
		if err != nil {
			return true, causeOf(ctx, err)
		}
		if err := w.hear(message); err != nil {
			return true, err
		}
	}
}

// causeOf prefers the reason for which this side gave up to the error that it led to.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server ended the stream")
	}
	return err
}

func (w *Worker) disconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isConnected = false
}

func (w *Worker) hello() *pb.SessionRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session++
	w.outbox.slotsFreed = 0 // counted from Executing on
	return &pb.SessionRequest{Hello: &pb.Hello{
		Protocol: protocol, WorkerId: w.workerID, Session: w.session, Name: w.options.Name, Language: "go", Version: version,
		Offer: w.offer(), HeldRuns: w.heldRuns(), Executing: uint32(len(w.executions)), BootId: w.bootID,
		AskedToDrain: w.isAskedToDrain,
	}}
}

// offer is called with the lock.
func (w *Worker) offer() *pb.Offer {
	offer := &pb.Offer{Slots: uint32(w.options.Slots), Labels: w.options.Labels, Draining: w.isDraining}
	for _, name := range slices.Sorted(maps.Keys(w.handlers)) {
		offer.Handlers = append(offer.Handlers, &pb.HandlerOffer{Name: name})
	}
	return offer
}

// heldKeys is called with the lock: every run that the worker executes or has to report.
func (w *Worker) heldKeys() map[key]bool {
	held := map[key]bool{}
	for _, runs := range []map[key]*execution{w.executions, w.ending} {
		for k, e := range runs {
			if !e.isDropped {
				held[k] = true
			}
		}
	}
	for _, e := range w.outbox.ends {
		held[e.key] = true
	}
	for _, a := range w.waiting {
		held[a.key] = true
	}
	return held
}

// heldLeases is called with the lock.
func (w *Worker) heldLeases() []string {
	leases := map[string]bool{}
	for k := range w.heldKeys() {
		leases[k.lease] = true
	}
	return slices.Sorted(maps.Keys(leases))
}

// heldRuns is called with the lock.
func (w *Worker) heldRuns() []*pb.HeldRuns {
	positions := map[string][]uint32{}
	for k := range w.heldKeys() {
		positions[k.lease] = append(positions[k.lease], k.position)
	}
	var held []*pb.HeldRuns
	for _, lease := range slices.Sorted(maps.Keys(positions)) {
		held = append(held, &pb.HeldRuns{LeaseId: lease, Positions: positions[lease]})
	}
	return held
}

func (w *Worker) welcome(address string, message *pb.SessionResponse, beat sent) error {
	if message.Welcome == nil {
		if err := w.hear(&pb.SessionResponse{Goodbye: message.Goodbye}); err != nil {
			return err
		}
		return errors.New("the server did not say welcome")
	}
	if spoken := message.Welcome.Protocol; spoken > protocol {
		const reason = "the server speaks protocol %d, and this worker knows %d; use a newer version of its library"
		return &refusedError{fmt.Sprintf(reason, spoken, protocol)}
	}
	w.mu.Lock()
	say("connected to %s as worker %s", address, message.Welcome.WorkerId)
	w.isConnected = true
	w.beats = map[uint32]sent{}
	w.trustTime = time.Duration(message.Welcome.TrustMs) * time.Millisecond
	w.outbox.newStream(uint64(message.Welcome.OutputWindow))
	for _, e := range w.executions {
		if e.isShown && !e.isClosed {
			w.toldStarted(e)
		}
	}
	for _, lease := range message.Welcome.UnknownLeases {
		w.dropLease(lease)
	}
	w.askedToDrain(message.Welcome.Draining)
	w.trustFrom(beat)
	w.tell()
	w.mu.Unlock()
	return w.hear(message)
}

// trustFrom is called with the lock.
func (w *Worker) trustFrom(beat sent) {
	// A worker that stood still may hear the answer before it sees that the time is over.
	if w.trust.isOver() {
		w.stopAll(notTrusted)
	}
	w.trust.renew(beat, w.trustTime)
}

func (w *Worker) send(ctx context.Context, stream grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		for {
			w.mu.Lock()
			message := w.outbox.take()
			w.room.Broadcast()
			w.mu.Unlock()
			if message == nil {
				break
			}
			// The reason of a failure comes from Recv.
			if stream.Send(message) != nil {
				return
			}
		}
	}
}

func (w *Worker) beatForever(ctx context.Context, cancel context.CancelCauseFunc, every time.Duration) {
	ticker := time.NewTicker(max(every, 10*time.Millisecond))
	defer ticker.Stop()
	for sequence := uint32(1); ; sequence++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.beatSoon:
		}
		w.mu.Lock()
		beat := w.trust.sent()
		for _, earlier := range w.beats {
			if beat.monotonic-earlier.monotonic > answerTimeMax {
				cancel(errors.New("the server does not answer beats"))
			}
		}
		w.beats[sequence] = beat
		w.outbox.beat = &pb.Beat{Sequence: sequence, HeldLeases: w.heldLeases(), Stuck: w.stuck()}
		w.tell()
		w.mu.Unlock()
	}
}

func (w *Worker) hear(message *pb.SessionResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer := message.BeatAnswer; answer != nil {
		if err := w.beatAnswered(answer); err != nil {
			return err
		}
	}
	for _, settled := range message.Settled {
		w.outbox.settled(settled.LeaseId, settled.Positions)
	}
	for _, answer := range message.CheckpointAnswers {
		w.outbox.checkpointAnswered(answer.Sequence, answer.Error)
	}
	for _, taken := range message.OutputsTaken {
		w.outbox.outputTaken(taken.Bytes)
		w.tell()
	}
	w.cancelRuns(message.Cancels)
	for _, assign := range message.Assigns {
		if w.hasLeft {
			break
		}
		runs, err := assignedRuns(assign)
		if err != nil {
			return err
		}
		w.waiting = append(w.waiting, runs...)
	}
	w.startWaiting()
	if goodbye := message.Goodbye; goodbye != nil {
		if !goodbye.DialAgain {
			return &refusedError{goodbye.Reason}
		}
		return &goodbyeError{goodbye.Reason, time.Duration(goodbye.AfterMs) * time.Millisecond}
	}
	return nil
}

// askedToDrain is called with the lock. Nothing is assigned meanwhile; a worker that starts over under a new id says it again.
func (w *Worker) askedToDrain(isAsked bool) {
	if isAsked != w.isAskedToDrain {
		if isAsked {
			say("asked to drain: takes no more runs")
		} else {
			say("no longer asked to drain: takes runs again")
		}
	}
	w.isAskedToDrain = isAsked
}

// beatAnswered is called with the lock.
func (w *Worker) beatAnswered(answer *pb.BeatAnswer) error {
	if answer.Buried {
		// Its runs were given to others: all of them stop, and a new worker begins.
		w.trust.end()
		for _, lease := range w.heldLeases() {
			w.dropLease(lease)
		}
		w.workerID, w.session = newUUID(), 0
		return errBuried
	}
	if answer.Sequence > 0 {
		w.askedToDrain(answer.Draining)
	}
	for _, lease := range answer.UnknownLeases {
		w.dropLease(lease)
	}
	if beat, isKnown := w.beats[answer.Sequence]; isKnown {
		maps.DeleteFunc(w.beats, func(sequence uint32, _ sent) bool { return sequence <= answer.Sequence })
		w.trustFrom(beat)
	}
	return nil
}

func assignedRuns(assign *pb.Assign) ([]*assigned, error) {
	count := len(assign.RunIds)
	for _, length := range []int{
		len(assign.JobIds), len(assign.Epochs), len(assign.Attempts), len(assign.ScheduledAtMs), len(assign.TimeoutMs),
		len(assign.Handlers), len(assign.Payloads),
	} {
		if length != count {
			return nil, fmt.Errorf("the columns of lease %s differ in length", assign.LeaseId)
		}
	}
	extras := map[uint32]*pb.Extra{}
	for _, extra := range assign.Extras {
		extras[extra.Position] = extra
	}
	runs := make([]*assigned, count)
	for i, runID := range assign.RunIds {
		position := assign.FirstPosition + uint32(i)
		extra := extras[position]
		runs[i] = &assigned{
			key:     key{assign.LeaseId, position},
			epoch:   assign.Epochs[i],
			handler: assign.Handlers[i],
			timeout: time.Duration(assign.TimeoutMs[i]) * time.Millisecond,
			secrets: extra.GetSecrets(),
			run: &Run{
				JobID: assign.JobIds[i], RunID: runID, Attempt: assign.Attempts[i], Epoch: assign.Epochs[i],
				ScheduledAt: time.UnixMilli(assign.ScheduledAtMs[i]), Namespace: extra.GetNamespace(),
				Payload: json.RawMessage(assign.Payloads[i]), Checkpoint: json.RawMessage(extra.GetCheckpoint()),
			},
		}
	}
	return runs, nil
}
