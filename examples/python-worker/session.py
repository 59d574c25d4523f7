"""The worker: keeps one stream to a server, and keeps the rules at the top of workers.proto. Everything here happens on one event loop."""

import asyncio
import random
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import forkserver

import grpc

from carillon.worker.v1 import workers_pb2 as pb
from carillon.worker.v1 import workers_pb2_grpc
from execution import METHOD, PROCESSES, Execution, now_ms
from outbox import Outbox
from run import Trust, now

PROTOCOL = 1
VERSION = "0.1.0"
FRAME_BYTES_MAX = 4 * 1024 * 1024
DIAL_SECONDS_MIN, DIAL_SECONDS_MAX = 0.1, 5.0
# So many pauses fit into the time that the worker is trusted for.
PAUSES_PER_TRUST = 4
# How long a cancel is remembered whose run the worker does not have: it may have come before its run.
CANCEL_SECONDS = 60.0
# The other side is dead when a beat, or a hello, has no answer for so long.
ANSWER_SECONDS_MAX = 5.0
# An address that refused the worker is not dialled again before; the others are, for runs do not wait for their worker so long.
REFUSED_SECONDS = 30.0
REFUSALS = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED)
# How long the end of a run waits for its output when the server takes none.
OUTPUT_SECONDS_MAX = 5.0
# How long the worker waits for the server to end the stream after its last word.
LEAVE_SECONDS_MAX = 5.0
REMEMBERED_MAX = 10_000
NOT_TRUSTED = "the worker had not been heard for too long to be sure that the run still was its own"
SHUT_DOWN = "the worker was shut down"


# What the library says, and what to do.
HINTS = (
    ("certificate has expired", "the certificate of the server must be renewed"),
    ("CERTIFICATE_VERIFY_FAILED", "--tls-ca names the authority that signed the certificate of the server"),
    ("WRONG_VERSION_NUMBER", "the server does not speak TLS: give no --tls-ca, and no https:// in --url"),
    (
        "Connection refused",
        "nothing listens there: check the port, and that the server was started with --host, without which other machines do not reach it",
    ),
)


# A server with TLS closes a connection in clear without a word; one that was killed does so as well, after it has answered.
UNANSWERED_HINTS = (("Socket closed", "a server with TLS is dialled by https:// in --url, or with --tls-ca"),)


def problem_text(code, details, has_answered=False):
    """What to do comes first, where it is known: what the library says is long. `has_answered`: the server, at some time."""
    said = f"{code.name}: {details}"
    hints = HINTS if has_answered else HINTS + UNANSWERED_HINTS
    return next((f"{hint} ({said})" for words, hint in hints if words in (details or "")), said)


def dial_pause(is_within_round, trust_seconds, random_between=random.uniform):
    """Full jitter: many workers whose server is gone do not come to the next one at once. Where that fails, the others follow at once."""
    if is_within_round:
        return DIAL_SECONDS_MIN
    longest = min(DIAL_SECONDS_MAX, trust_seconds / PAUSES_PER_TRUST) if trust_seconds else DIAL_SECONDS_MAX
    return random_between(DIAL_SECONDS_MIN, max(DIAL_SECONDS_MIN, longest))


class Refused(Exception):
    """The server will not have this worker, whatever it does."""


class StreamEnded(Exception):
    def __init__(self, reason, after_seconds=0.0):
        super().__init__(reason)
        self.after_seconds = after_seconds


@dataclass(frozen=True)
class Assigned:
    lease_id: str
    position: int
    epoch: int
    handler: str
    timeout_ms: int
    secrets: tuple
    facts: dict


@dataclass(frozen=True)
class Options:
    servers: tuple  # host:port, tried one after the other
    key: str
    slots: int = 4
    name: str = "python-worker"
    labels: tuple = ()  # (name, value)
    drain_seconds: float = 30.0
    tls: Callable[[], grpc.ChannelCredentials] | None = None  # called for each stream: files are renewed


class Worker:
    def __init__(self, options, handlers, say=print):
        self._options = options
        self._handlers = handlers
        self._say = say
        # One thread for each run that executes, the last ones of the session before included.
        self.threads = ThreadPoolExecutor(max_workers=options.slots)
        # Shared with the processes of the runs: they end by themselves when this worker stands still for too long.
        self.trust = Trust(PROCESSES.RawArray("d", [0.0, 0.0]))
        self._outbox = Outbox()
        self._boot_id = str(uuid.uuid4())
        self._worker_id = str(uuid.uuid4())
        self._turns = 0  # addresses that were taken from the list
        self._problems = set()  # what was said of addresses since the last welcome
        self._answered = set()  # addresses where a server said something
        self._session = 0  # the number of streams under this id
        self._welcomed = False
        self._executions = {}  # (lease, position) -> Execution, until its process is gone
        self._ending = {}  # (lease, position): its process is gone, its end is not in the outbox yet
        self._dropped = set()  # executions whose run is not ours any more: their end is told to nobody
        self._handed_out = OrderedDict()  # (lease, position, epoch): a run is started once
        self._waiting = []  # assigned before the first beat was answered
        self._tasks = set()
        self._checkpoint_sequence = 0
        self._beats = {}  # sequence -> when it was sent, by both clocks
        self._beat_soon = asyncio.Event()
        self._cancelled = OrderedDict()  # run id -> until when it is remembered
        self._trust_seconds = 0.0
        self._draining = False  # it leaves
        self._asked_to_drain = False  # somebody wants it to take no more runs; the servers see to it
        self._left = False  # it has said its last word: what still comes, the server gives to others
        self._finished = asyncio.Event()

    # --- life -------------------------------------------------------------------------------------------------------------------

    async def run(self):
        """Until it is drained. Raises Refused when no server will have it."""
        if METHOD == "forkserver":
            forkserver.ensure_running()
        guard = asyncio.create_task(self._guard_trust())
        dialing = asyncio.create_task(self._dial_forever())
        finished = asyncio.create_task(self._finished.wait())
        done, _ = await asyncio.wait({dialing, finished}, return_when=asyncio.FIRST_COMPLETED)
        for task in (guard, dialing, finished):
            task.cancel()
        await asyncio.gather(guard, dialing, finished, return_exceptions=True)
        self.threads.shutdown(wait=False)
        if dialing in done:
            dialing.result()
        return self._outbox.is_settled()

    def drain(self):
        """Takes nothing more; what has not ended in time is given back. A second call gives everything back at once."""
        within_seconds = self._options.drain_seconds
        loop = asyncio.get_running_loop()
        if self._draining:
            self._give_back_all()
            return
        self._draining = True
        self._say(f"draining; {len(self._executions)} runs go on for at most {within_seconds:g} s")
        self._outbox.add_capacity(pb.Capacity(draining=True))
        self._start_waiting()
        loop.call_later(within_seconds, self._give_back_all)
        self._keep(asyncio.create_task(self._finish()))

    def _give_back_all(self):
        for execution in list(self._executions.values()):
            execution.stop(pb.OUTCOME_KIND_RETURNED, SHUT_DOWN)

    async def _finish(self):
        """The worker may leave when every end is settled, or when nobody would believe it any more."""
        while self._executions or self._ending or not (self._outbox.is_settled() or self.trust.is_over()):
            await asyncio.sleep(0.02)
        self._left = True
        if self._welcomed:
            # The stream ends when the server has given to others what it had claimed for this worker.
            self._outbox.add_leave()
            await asyncio.sleep(LEAVE_SECONDS_MAX)
        self._finished.set()

    async def _guard_trust(self):
        was_doubted = False
        while True:
            self.stop_if_not_trusted()
            is_doubted = self.trust.is_doubted()
            if is_doubted and not was_doubted:
                self._say("the wall clock ran ahead: the machine was suspended, or its clock was set; nothing starts before the next beat")
                self._beat_soon.set()
            was_doubted = is_doubted
            await asyncio.sleep(0.1)

    def stop_if_not_trusted(self):
        if self.trust.is_over():
            for execution in list(self._executions.values()):
                execution.stop(pb.OUTCOME_KIND_RETURNED, NOT_TRUSTED)

    # --- the stream -------------------------------------------------------------------------------------------------------------

    async def _dial_forever(self):
        dials, was_welcome, servers = 0, False, self._options.servers
        refusals = {}  # address -> (when, why), since the last welcome
        while True:
            # Those that refused it just now are left out: at least one has not, or all would have been asked again.
            while (refusal := refusals.get(address := self._next_address())) and now() - refusal[0] < REFUSED_SECONDS:
                pass
            dials += 1
            pause = 0.0
            refusals.pop(address, None)
            try:
                await self._stream(address)
            except StreamEnded as ended:
                self._say_once(address, str(ended))
                pause = ended.after_seconds
            except OSError as error:
                self._say_once(address, f"{error.filename} cannot be read: {error.strerror}")
            except grpc.aio.AioRpcError as error:
                self._say_once(address, problem_text(error.code(), error.details(), address in self._answered))
                if error.code() in REFUSALS:
                    refusals[address] = (now(), error.details())
                    self._answered.add(address)
            if self._left:
                self._finished.set()
            if self._welcomed:
                was_welcome, dials = True, 0
                refusals.clear()
            if all(server in refusals for server in servers):
                if not was_welcome:
                    raise Refused("; ".join(f"{server}: {why}" for server, (_, why) in refusals.items()))
                refusals.clear()
                pause = REFUSED_SECONDS
            await asyncio.sleep(max(pause, dial_pause(dials % len(servers) != 0, self._trust_seconds)))

    def _next_address(self):
        self._turns += 1
        return self._options.servers[(self._turns - 1) % len(self._options.servers)]

    def _say_once(self, address, problem):
        """Not again until a server has said welcome. Numbers, such as those of ports, make no other problem of it."""
        key = (address, re.sub(r"\d+", "", problem))
        if key not in self._problems:
            self._say(f"{address}: {problem}")
        self._problems.add(key)

    async def _stream(self, address):
        self._welcomed = False
        self._session += 1
        limits = [("grpc.max_receive_message_length", FRAME_BYTES_MAX), ("grpc.use_local_subchannel_pool", 1)]
        tls = self._options.tls
        channel = (
            grpc.aio.secure_channel(address, tls(), limits) if tls else grpc.aio.insecure_channel(address, limits)
        )
        async with channel:
            stub = workers_pb2_grpc.WorkerServiceStub(channel)
            call = stub.Session(metadata=(("authorization", f"Bearer {self._options.key}"),))
            sent = self.trust.sent()
            tasks = []
            try:
                await self._say_hello(call)
                first = await asyncio.wait_for(self._read(call), ANSWER_SECONDS_MAX)
                self._answered.add(address)
                self._welcome(address, first, sent)
                tasks = [
                    asyncio.create_task(self._receive(call)),
                    asyncio.create_task(self._send(call)),
                    asyncio.create_task(self._beat(first.welcome.beat_ms / 1000)),
                ]
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                # What the server said explains more than a write that failed.
                for task in sorted(done, key=tasks.index):
                    task.result()
            except (asyncio.TimeoutError, asyncio.InvalidStateError) as error:
                raise StreamEnded("the server does not answer") from error
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                call.cancel()

    async def _say_hello(self, call):
        try:
            await asyncio.wait_for(call.write(self._hello()), ANSWER_SECONDS_MAX)
        except asyncio.InvalidStateError:
            pass  # A server that refuses the stream may have ended it by now: reading says why.
        except grpc.aio.AioRpcError as error:
            # The stream ended while the hello was written, and the library forgot why. The next dial may hear it.
            if error.code() == grpc.StatusCode.INTERNAL:
                raise StreamEnded("the server ended the stream before it took the hello") from error
            raise

    def _hello(self):
        self._outbox.slots_freed = 0  # counted from `executing` on
        return pb.SessionRequest(
            hello=pb.Hello(
                protocol=PROTOCOL,
                worker_id=self._worker_id,
                session=self._session,
                name=self._options.name,
                language="python",
                version=VERSION,
                offer=self._offer(),
                executing=len(self._executions),
                boot_id=self._boot_id,
                held_runs=self._held_runs(),
                asked_to_drain=self._asked_to_drain,
            )
        )

    def _offer(self):
        handlers = [pb.HandlerOffer(name=name) for name in sorted(self._handlers)]
        return pb.Offer(
            slots=self._options.slots, handlers=handlers, labels=dict(self._options.labels), draining=self._draining
        )

    def _held_keys(self):
        """(lease, position) of every run that the worker executes or has to report."""
        keys = {*self._executions, *self._ending} - self._dropped
        waiting = {(assigned.lease_id, assigned.position) for assigned in self._waiting}
        return keys | waiting | self._outbox.held_keys()

    def _held_leases(self):
        return sorted({lease for lease, _ in self._held_keys()})

    def _held_runs(self):
        positions = {}
        for lease, position in sorted(self._held_keys()):
            positions.setdefault(lease, []).append(position)
        return [pb.HeldRuns(lease_id=lease, positions=held) for lease, held in positions.items()]

    def _welcome(self, address, message, sent):
        if message.HasField("goodbye"):
            self._goodbye(message.goodbye)
        if not message.HasField("welcome"):
            raise StreamEnded("the server did not say welcome")
        if message.welcome.protocol > PROTOCOL:
            spoken = message.welcome.protocol
            raise Refused(f"the server speaks protocol {spoken}, and this worker knows {PROTOCOL}; use a newer version of its library")
        self._welcomed = True
        self._problems.clear()
        if message.beat_answer.buried:
            self._start_over()
        welcome = message.welcome
        self._say(f"connected to {address} as worker {welcome.worker_id}")
        self._beats = {}
        self._trust_seconds = welcome.trust_ms / 1000
        self._outbox.new_stream(welcome.output_window)
        for execution in self._executions.values():
            if execution.is_shown:
                self.told_started(execution)
        for lease in welcome.unknown_leases:
            self._drop_lease(lease)
        self._ask_to_drain(welcome.draining)
        self._trust_from(sent)
        self._hear(message)

    async def _read(self, call):
        message = await call.read()
        if message is grpc.aio.EOF:
            # Raises what the server gave as the reason, if that was an error.
            if await call.code() != grpc.StatusCode.OK:
                raise grpc.aio.AioRpcError(await call.code(), None, None, await call.details())
            raise StreamEnded("the server ended the stream")
        return message

    async def _receive(self, call):
        while True:
            self._hear(await self._read(call))

    async def _send(self, call):
        while True:
            await self._outbox.changed.wait()
            self._outbox.changed.clear()
            while (message := self._outbox.take()) is not None:
                await call.write(message)

    async def _beat(self, every_seconds):
        sequence = 0
        while True:
            try:
                await asyncio.wait_for(self._beat_soon.wait(), every_seconds)
            except asyncio.TimeoutError:
                pass
            self._beat_soon.clear()
            if self._beats and now() - min(self._beats.values())[0] > ANSWER_SECONDS_MAX:
                raise StreamEnded("the server does not answer beats")
            sequence += 1
            self._beats[sequence] = self.trust.sent()
            stuck = sum(execution.is_stuck for execution in self._executions.values())
            self._outbox.add_beat(pb.Beat(sequence=sequence, held_leases=self._held_leases(), stuck=stuck))

    def _hear(self, message):
        if message.HasField("beat_answer"):
            self._beat_answered(message.beat_answer)
        for settled in message.settled:
            self._outbox.settled(settled.lease_id, settled.positions)
        for answer in message.checkpoint_answers:
            self._outbox.checkpoint_answered(answer.sequence, answer.error)
        for taken in message.outputs_taken:
            self._outbox.output_taken(taken.bytes)
        self._cancel({cancel.run_id for cancel in message.cancels})
        for assign in () if self._left else message.assigns:
            self._waiting.extend(assigned_runs(assign))
        self._start_waiting()
        if message.HasField("goodbye"):
            self._goodbye(message.goodbye)

    def _cancel(self, run_ids):
        """Those that it does not have are remembered: a cancel is more urgent than its run, and may come first."""
        for execution in list(self._executions.values()):
            if execution.run_id in run_ids:
                execution.stop(pb.OUTCOME_KIND_CANCELLED, "cancelled while running")
                run_ids.discard(execution.run_id)
        for run_id in run_ids:
            self._cancelled.pop(run_id, None)
            self._cancelled[run_id] = now() + CANCEL_SECONDS
        while self._cancelled and (len(self._cancelled) > REMEMBERED_MAX or next(iter(self._cancelled.values())) <= now()):
            self._cancelled.popitem(last=False)

    def _goodbye(self, goodbye):
        if not goodbye.dial_again:
            raise Refused(goodbye.reason)
        raise StreamEnded(f"the server ended the stream: {goodbye.reason}", goodbye.after_ms / 1000)

    def _beat_answered(self, answer):
        if answer.buried:
            self._start_over()
        if answer.sequence > 0:
            self._ask_to_drain(answer.draining)
        for lease in answer.unknown_leases:
            self._drop_lease(lease)
        sent = self._beats.pop(answer.sequence, None)
        if sent is not None:
            self._beats = {sequence: at for sequence, at in self._beats.items() if sequence > answer.sequence}
            self._trust_from(sent)

    def _ask_to_drain(self, asked):
        """Nothing is assigned meanwhile; a worker that starts over under a new id says it again."""
        if asked != self._asked_to_drain:
            self._say("asked to drain: takes no more runs" if asked else "no longer asked to drain: takes runs again")
        self._asked_to_drain = asked

    def _trust_from(self, sent):
        # A worker that stood still may hear the answer before it sees that the time is over.
        self.stop_if_not_trusted()
        self.trust.renew(sent, self._trust_seconds)

    def _start_over(self):
        """Its runs were given to others: all of them stop, and a new worker begins."""
        self.trust.end()
        for lease in self._held_leases():
            self._drop_lease(lease)
        self._worker_id = str(uuid.uuid4())
        self._session = 0
        raise StreamEnded("the worker was silent for too long; it starts over under a new id")

    def _drop_lease(self, lease):
        self._waiting = [assigned for assigned in self._waiting if assigned.lease_id != lease]
        self._outbox.drop_lease(lease)
        for key, execution in list(self._executions.items()):
            if key[0] == lease:
                self._dropped.add(key)
                execution.stop(pb.OUTCOME_KIND_RETURNED, NOT_TRUSTED)
        self._dropped.update(key for key in self._ending if key[0] == lease)

    # --- runs -------------------------------------------------------------------------------------------------------------------

    def _start_waiting(self):
        """Nothing starts while the worker is not trusted; what cannot be taken goes back at once."""
        if not self.trust.is_given() and not self._draining:
            return
        waiting, self._waiting = self._waiting, []
        for assigned in waiting:
            key = (assigned.lease_id, assigned.position)
            handing_out = (*key, assigned.epoch)
            if handing_out in self._handed_out:
                continue
            self._handed_out[handing_out] = True
            if len(self._handed_out) > REMEMBERED_MAX:
                self._handed_out.popitem(last=False)
            handler = self._handlers.get(assigned.handler)
            if self._cancelled.get(assigned.facts["run_id"], 0.0) > now():
                self._refuse(assigned, "cancelled before it started", pb.OUTCOME_KIND_CANCELLED)
            elif handler is None:
                self._refuse(assigned, f'this worker does not offer the handler "{assigned.handler}"')
            elif self._draining:
                self._refuse(assigned, SHUT_DOWN)
            elif len(self._executions) >= self._options.slots:
                self._refuse(assigned, "every slot of the worker is in use")
            else:
                self._executions[key] = execution = Execution(assigned, handler, self)
                self._keep(asyncio.create_task(execution.run()))

    def _refuse(self, assigned, error, kind=pb.OUTCOME_KIND_RETURNED):
        outcome = pb.Outcome(position=assigned.position, kind=kind, error=error)
        self._outbox.slots_freed += 1
        self._outbox.add_end(assigned.lease_id, assigned.epoch, 0, now_ms(), outcome)

    def _keep(self, task):
        """The event loop itself would forget it."""
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task):
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._say(f"internal error: {task.exception()!r}")

    # --- what runs say ----------------------------------------------------------------------------------------------------------

    def told_started(self, execution):
        execution.is_shown = True
        assigned = execution.assigned
        self._outbox.add_started(
            pb.Started(
                lease_id=assigned.lease_id,
                position=assigned.position,
                epoch=assigned.epoch,
                started_at_ms=execution.started_at_ms,
            )
        )

    async def told_output(self, execution, stream, chunk):
        if chunk and self._key(execution) not in self._dropped:
            assigned = execution.assigned
            await self._outbox.add_output(
                pb.Output(
                    lease_id=assigned.lease_id,
                    position=assigned.position,
                    epoch=assigned.epoch,
                    stream=stream,
                    at_ms=now_ms(),
                    bytes=chunk,
                )
            )

    def told_progress(self, execution, percent, message):
        assigned = execution.assigned
        self._outbox.add_progress(
            pb.RunProgress(
                lease_id=assigned.lease_id,
                position=assigned.position,
                epoch=assigned.epoch,
                percent=min(max(percent, 0.0), 100.0),
                message=message,
            )
        )

    async def save_checkpoint(self, execution, value):
        """Answers why it is not kept; empty when it is."""
        if self._key(execution) in self._dropped:
            return NOT_TRUSTED
        assigned = execution.assigned
        self._checkpoint_sequence += 1
        return await self._outbox.add_checkpoint(
            pb.Checkpoint(
                sequence=self._checkpoint_sequence,
                lease_id=assigned.lease_id,
                position=assigned.position,
                epoch=assigned.epoch,
                value=value,
            )
        )

    async def told_end(self, execution, outcome):
        """Its process is gone. The slot is free; the end follows the last of the output."""
        key = self._key(execution)
        ended_at_ms = now_ms()
        self._ending[key] = self._executions.pop(key)
        self._outbox.slots_freed += 1
        self._outbox.changed.set()
        waited = 0.0
        while self._outbox.has_output_of(*key) and waited < OUTPUT_SECONDS_MAX:
            await asyncio.sleep(0.02)
            waited += 0.02 if self._welcomed else 0.0
        self._outbox.drop_output_of(*key)
        if key not in self._dropped:
            self._outbox.add_end(
                execution.assigned.lease_id, execution.assigned.epoch, execution.started_at_ms, ended_at_ms, outcome
            )
        self._dropped.discard(key)
        del self._ending[key]

    @staticmethod
    def _key(execution):
        return (execution.assigned.lease_id, execution.assigned.position)


def assigned_runs(assign):
    extras = {extra.position: extra for extra in assign.extras}
    for index, run_id in enumerate(assign.run_ids):
        position = assign.first_position + index
        extra = extras.get(position, pb.Extra())
        yield Assigned(
            lease_id=assign.lease_id,
            position=position,
            epoch=assign.epochs[index],
            handler=assign.handlers[index],
            timeout_ms=assign.timeout_ms[index],
            secrets=tuple(extra.secrets),
            facts={
                "run_id": run_id,
                "job_id": assign.job_ids[index],
                "attempt": assign.attempts[index],
                "epoch": assign.epochs[index],
                "scheduled_at_ms": assign.scheduled_at_ms[index],
                "payload": assign.payloads[index],
                "checkpoint": extra.checkpoint,
                "namespace": extra.namespace,
            },
        )
