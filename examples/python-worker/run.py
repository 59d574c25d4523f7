"""What a handler sees of its run, and the process in which the handler is called.

Each run has a process of its own, because a thread cannot be stopped. To stop it, the worker sends SIGTERM, which raises Stopped in the
handler, and kills the whole process group two seconds later. The process ends by itself when the worker is gone, or when the worker
could not renew its trust in time while it stood still.
"""

import io
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from datetime import datetime, timezone

CHECKPOINT_BYTES_MAX = 256 * 1024
RESULT_BYTES_MAX = 64 * 1024
# The worker stops its runs when the trust ends; the process itself follows this much later, before others are given the run.
GRACE_SECONDS = 2.0
OUTPUT_CHUNK_BYTES = 32 * 1024
STDOUT, STDERR = 0, 1


# The wall clock, since the last answered beat was sent. Further ahead: the machine was suspended, or its clock was set.
AHEAD_SECONDS_MAX = 2.0
# What runs then goes on for so long without an answered beat.
DOUBT_SECONDS_MAX = 5.0


class SystemClock:
    """`now` never goes back, and stands still while the machine is suspended; `ahead` is how far the wall clock is ahead of it."""

    def now(self):
        return time.monotonic()

    def ahead(self):
        return time.time() - time.monotonic()


CLOCK = SystemClock()
now = CLOCK.now


class Trust:
    """For how long the worker may take its runs for its own. `shared` with the processes of the runs: until when, and how far the wall
    clock was ahead when the last answered beat was sent."""

    def __init__(self, shared, clock=CLOCK):
        self._shared = shared
        self._clock = clock
        self._doubted = None  # of `shared`: what was doubted, since when, and by how much the clocks had parted

    def sent(self):
        """To be read before a beat is sent, and given to `renew` when it is answered."""
        return self._clock.now(), self._clock.ahead()

    def renew(self, sent, seconds):
        """From when the beat was sent: a slow answer must never lengthen the trust."""
        sent_at, ahead = sent
        if sent_at + seconds > self._shared[0]:
            self._shared[:] = (sent_at + seconds, ahead)

    def end(self):
        self._shared[:] = (0.0, 0.0)

    def is_over(self, late=0.0):
        until = self._shared[0]
        if self.is_doubted():
            # Nothing was suspended for longer than the clocks have parted.
            _, since, parted = self._doubted
            until = min(until, max(since + DOUBT_SECONDS_MAX, until - parted))
        return self._clock.now() >= until + late

    def is_doubted(self):
        """Until the next answered beat: others may have been given the runs while the machine was suspended."""
        until, ahead = self._shared
        if self._doubted is not None and self._doubted[0] == (until, ahead):
            return True
        parted = self._clock.ahead() - ahead
        if until == 0.0 or parted <= AHEAD_SECONDS_MAX:
            return False
        self._doubted = ((until, ahead), self._clock.now(), parted)
        return True

    def is_given(self):
        return not self.is_doubted() and not self.is_over()


class HandlerError(Exception):
    """Raised by a handler when trying again cannot help, or must wait."""

    def __init__(self, message, retryable=True, retry_after_ms=0, result=None):
        super().__init__(message)
        self.retryable = retryable
        # It may have been computed from an instant that has passed.
        self.retry_after_ms = max(0, min(int(retry_after_ms), 2**53))
        self.result = result


class Stopped(BaseException):
    """Raised in a handler that must stop: cancelled, out of time, or not this worker's any more."""


class Run:
    def __init__(self, facts, connection, trust):
        self.job_id = facts["job_id"]
        # The same for every attempt: hand it on to whatever must not happen twice.
        self.run_id = facts["run_id"]
        self.attempt = facts["attempt"]
        # Grows each time the run is handed out: a store that remembers the highest one refuses what an older attempt writes.
        self.epoch = facts["epoch"]
        self.scheduled_at = datetime.fromtimestamp(facts["scheduled_at_ms"] / 1000, timezone.utc)
        self.namespace = facts["namespace"]
        self.payload = json.loads(facts["payload"] or "{}")
        # What an earlier attempt, or this one, saved last; None when there is nothing.
        self.checkpoint = json.loads(facts["checkpoint"]) if facts["checkpoint"] else None
        self._connection = connection
        self._trust = trust

    def save_checkpoint(self, value):
        """Returns when the value is durable. Raises when it is too large, or the run is not this worker's any more."""
        text = json.dumps(value)
        if len(text.encode()) > CHECKPOINT_BYTES_MAX:
            raise HandlerError(f"the checkpoint is larger than {CHECKPOINT_BYTES_MAX} bytes", retryable=False)
        self._connection.send(("checkpoint", text))
        error = self._connection.recv()
        if error:
            raise HandlerError(f"the checkpoint was not kept: {error}")
        self.checkpoint = value

    def progress(self, percent, message=""):
        self._connection.send(("progress", float(percent), message))

    def log(self, text):
        print(text, flush=True)

    def log_error(self, text):
        print(text, file=sys.stderr, flush=True)

    def is_held(self):
        """Ask right before an effect that must not happen beside the next attempt's."""
        return self._trust.is_given()


class _Output(io.RawIOBase):
    """Standard output or standard error of the handler, on its way to the worker."""

    def __init__(self, connection, stream):
        self._connection = connection
        self._stream = stream

    def writable(self):
        return True

    def write(self, chunk):
        taken = bytes(chunk[:OUTPUT_CHUNK_BYTES])
        self._connection.send(("output", self._stream, taken))
        return len(taken)


def execute(handler, facts, connection, trust):
    """The whole life of the process of a run."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _raise_stopped)
    threading.Thread(target=_end_with_worker, args=(connection, trust), daemon=True).start()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Output(connection, STDOUT)), "utf-8", "replace", line_buffering=True)
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Output(connection, STDERR)), "utf-8", "replace", line_buffering=True)
    try:
        end = _call(handler, facts, connection, trust)
        # From here on the run has ended: a request to stop comes too late.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(end)
    except (Stopped, OSError):
        pass
    # Programs that the handler started and left behind end with it.
    os.killpg(0, signal.SIGKILL)


def _call(handler, facts, connection, trust):
    try:
        try:
            run = Run(facts, connection, trust)
        except ValueError as error:
            raise HandlerError(f"the payload is not valid JSON: {error}", retryable=False) from error
        result = handler(run)
        return ("end", True, "", True, 0, _result_text(result))
    except HandlerError as error:
        return ("end", False, str(error), error.retryable, error.retry_after_ms, _result_text(error.result))
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        # The message of a KeyError is only the key: the type says what it means.
        name, message = type(error).__name__, str(error)
        return ("end", False, f"{name}: {message}" if message else name, True, 0, "")


def _result_text(result):
    if result is None:
        return ""
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps({"note": "the result is not JSON and was not kept"})
    if len(text) > RESULT_BYTES_MAX:
        return json.dumps({"note": f"the result is larger than {RESULT_BYTES_MAX} bytes and was not kept"})
    return text


def _raise_stopped(_signal, _frame):
    raise Stopped()


def _end_with_worker(connection, trust):
    poll = select.poll()
    poll.register(connection.fileno(), getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
    while not poll.poll(250) and not trust.is_over(late=GRACE_SECONDS):
        pass
    os.killpg(0, signal.SIGKILL)
