"""What waits to be told to the server, and what was told and not answered: that is told again on the next stream."""

import asyncio
import time
from collections import deque

from carillon.worker.v1 import workers_pb2 as pb

# A frame holds at most 4 MiB; small ones keep beats moving beside output.
FRAME_BYTES = 256 * 1024
# What a handler writes beyond this waits in the handler.
BUFFERED_BYTES_MAX = 1024 * 1024
MISSING = b"Output is missing here: the connection to the server was lost.\n"


class Outbox:
    def __init__(self):
        self.changed = asyncio.Event()
        self.slots_freed = 0
        self._slots_freed_told = 0
        self._ends = {}  # (lease, position) -> the end, until it is settled
        self._ends_to_send = {}
        self._checkpoints = {}  # sequence -> (message, future), until it is answered
        self._checkpoints_to_send = {}
        self._outputs = deque()
        self._buffered = 0
        self._window = 0
        self._sent = deque()  # output on its way: [lease, position, epoch, bytes left]
        self._room = asyncio.Event()
        self._progress = {}
        self._started = {}
        self._beat = None
        self._capacity = None
        self._leave = False

    def new_stream(self, window):
        """Everything that was not answered is told again, in the order in which it happened."""
        self._window = window
        self._mark_missing()
        self._slots_freed_told = 0
        self._ends_to_send = dict(self._ends)
        self._checkpoints_to_send = {sequence: message for sequence, (message, _) in self._checkpoints.items()}
        self._beat = None
        self.changed.set()

    def held_keys(self):
        return set(self._ends)

    def add_beat(self, beat):
        self._beat = beat
        self.changed.set()

    def add_capacity(self, capacity):
        self._capacity = capacity
        self.changed.set()

    def add_leave(self):
        """The last word: it goes after everything else."""
        self._leave = True
        self.changed.set()

    def add_end(self, lease, epoch, started_at_ms, ended_at_ms, outcome):
        key = (lease, outcome.position)
        self._ends[key] = self._ends_to_send[key] = (epoch, started_at_ms, ended_at_ms, outcome)
        self._started.pop(key, None)
        self.changed.set()

    def add_started(self, message):
        self._started[(message.lease_id, message.position)] = message
        self.changed.set()

    def add_progress(self, message):
        """The latest counts."""
        self._progress[(message.lease_id, message.position)] = message
        self.changed.set()

    async def add_output(self, message):
        """Returns when there is room for more."""
        self._outputs.append(message)
        self._buffered += len(message.bytes)
        self.changed.set()
        while self._buffered > BUFFERED_BYTES_MAX:
            self._room.clear()
            await self._room.wait()

    def has_output_of(self, lease, position):
        return any(output.lease_id == lease and output.position == position for output in self._outputs)

    def drop_output_of(self, lease, position):
        kept = [output for output in self._outputs if (output.lease_id, output.position) != (lease, position)]
        self._outputs = deque(kept)
        self._buffered = sum(len(output.bytes) for output in kept)
        self._room.set()

    def add_checkpoint(self, message):
        future = asyncio.get_running_loop().create_future()
        self._checkpoints[message.sequence] = (message, future)
        self._checkpoints_to_send[message.sequence] = message
        self.changed.set()
        return future

    def checkpoint_answered(self, sequence, error):
        message, future = self._checkpoints.pop(sequence, (None, None))
        self._checkpoints_to_send.pop(sequence, None)
        if future is not None and not future.done():
            future.set_result(error)

    def settled(self, lease, positions):
        for position in positions:
            self._ends.pop((lease, position), None)
            self._ends_to_send.pop((lease, position), None)

    def drop_lease(self, lease):
        """It is not the worker's any more: nothing that is said about it would be taken."""
        self.settled(lease, [position for key, position in self._ends if key == lease])
        for sequence, (message, _) in list(self._checkpoints.items()):
            if message.lease_id == lease:
                self.checkpoint_answered(sequence, "the run is not this worker's any more")
        for position in {output.position for output in self._outputs if output.lease_id == lease}:
            self.drop_output_of(lease, position)

    def output_taken(self, count):
        self._window += count
        while count > 0 and self._sent:
            taken = min(count, self._sent[0][3])
            count -= taken
            self._sent[0][3] -= taken
            if self._sent[0][3] == 0:
                self._sent.popleft()
        self.changed.set()

    def _mark_missing(self):
        """Nobody knows what of the output on its way has arrived when a stream breaks. The log says so, before what follows."""
        for lease, position, epoch in {(lease, position, epoch) for lease, position, epoch, _ in self._sent}:
            stream = pb.OUTPUT_STREAM_SYSTEM
            mark = pb.Output(lease_id=lease, position=position, epoch=epoch, stream=stream, bytes=MISSING)
            mark.at_ms = int(time.time() * 1000)
            self._outputs.appendleft(mark)
            self._buffered += len(MISSING)
        self._sent.clear()

    def is_settled(self):
        return not self._ends

    def take(self):
        """The next message, or None. Beats go first, then what ends and checkpoints need; output takes the rest of the frame."""
        message = pb.SessionRequest(slots_freed=self.slots_freed)
        if self._beat is not None:
            message.beat.CopyFrom(self._beat)
            self._beat = None
        if self._capacity is not None:
            message.capacity.CopyFrom(self._capacity)
            self._capacity = None
        message.started.extend(self._started.values())
        self._started.clear()
        message.progress.extend(self._progress.values())
        self._progress.clear()
        size = self._take_checkpoints(message)
        size = self._take_ends(message, size)
        self._take_outputs(message, size)
        is_empty = message == pb.SessionRequest(slots_freed=self._slots_freed_told)
        self._slots_freed_told = self.slots_freed
        if is_empty and self._leave:
            self._leave = False
            return pb.SessionRequest(slots_freed=self.slots_freed, leave=True)
        return None if is_empty else message

    def _take_checkpoints(self, message):
        size = 0
        while self._checkpoints_to_send and size < FRAME_BYTES:
            sequence, checkpoint = next(iter(self._checkpoints_to_send.items()))
            del self._checkpoints_to_send[sequence]
            message.checkpoints.append(checkpoint)
            size += len(checkpoint.value)
        return size

    def _take_ends(self, message, size):
        columns = {}
        while self._ends_to_send and size < FRAME_BYTES:
            (lease, position), (epoch, started_at_ms, ended_at_ms, outcome) = next(iter(self._ends_to_send.items()))
            del self._ends_to_send[(lease, position)]
            ended = columns.setdefault(lease, pb.Ended(lease_id=lease))
            ended.positions.append(position)
            ended.epochs.append(epoch)
            ended.started_at_ms.append(started_at_ms)
            ended.ended_at_ms.append(ended_at_ms)
            if outcome.kind != pb.OUTCOME_KIND_SUCCESS or outcome.result:
                ended.outcomes.append(outcome)
            size += 64 + len(outcome.result) + len(outcome.error)
        message.ended.extend(columns.values())
        return size

    def _take_outputs(self, message, size):
        while self._outputs and size < FRAME_BYTES and self._window > 0:
            output = message.outputs.add()
            output.CopyFrom(self._outputs[0])
            output.bytes = output.bytes[: self._window]
            taken = len(output.bytes)
            if taken == len(self._outputs[0].bytes):
                self._outputs.popleft()
            else:
                self._outputs[0].bytes = self._outputs[0].bytes[taken:]
            size += taken
            self._sent.append([output.lease_id, output.position, output.epoch, taken])
            self._window -= taken
            self._buffered -= taken
        if self._buffered <= BUFFERED_BYTES_MAX:
            self._room.set()
