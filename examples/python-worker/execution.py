"""The worker's side of one run: starts its process, hears what it says, stops it, and knows how it ended."""

import asyncio
import multiprocessing
import os
import pickle
import signal
import time

from carillon.worker.v1 import workers_pb2 as pb
from mask import StreamMask, forms_of, mask_text
from run import GRACE_SECONDS, execute, now

# A fork of a small process without threads: quick, and safe beside the threads of gRPC.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PROCESSES = multiprocessing.get_context(METHOD)
SHOWN_AFTER_SECONDS = 0.25
# A process that was killed is gone long before: this one cannot be ended.
STUCK_AFTER_SECONDS = 5.0
ERROR_LENGTH_MAX = 4000


def now_ms():
    return int(time.time() * 1000)


class Execution:
    """`worker` hears about it: told_output, told_progress, save_checkpoint, told_started, told_end."""

    def __init__(self, assigned, handler, worker):
        self.assigned = assigned
        self.started_at_ms = 0
        self.is_shown = False
        self._handler = handler
        self._worker = worker
        self._forms = forms_of(assigned.secrets)
        self._masks = {}
        self._stop = None
        self._stopped_at = None
        self._process = None

    @property
    def run_id(self):
        return self.assigned.facts["run_id"]

    @property
    def is_stuck(self):
        return self._stopped_at is not None and now() - self._stopped_at > STUCK_AFTER_SECONDS

    def stop(self, kind, error):
        """The first reason counts, but a cancel overrules the others."""
        if self._stop is not None and kind != pb.OUTCOME_KIND_CANCELLED:
            return
        self._stop = (kind, error)
        self._stopped_at = self._stopped_at or now()
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._signal, signal.SIGKILL)

    async def run(self):
        loop = asyncio.get_running_loop()
        self.started_at_ms = now_ms()
        shown = loop.call_later(SHOWN_AFTER_SECONDS, self._worker.told_started, self)
        limit_ms = self.assigned.timeout_ms
        limit = loop.call_later(limit_ms / 1000, self._time_out) if limit_ms else None
        try:
            end = await loop.run_in_executor(self._worker.threads, self._converse, loop)
        finally:
            shown.cancel()
            if limit is not None:
                limit.cancel()
        for stream, mask in self._masks.items():
            await self._worker.told_output(self, stream, mask.end())
        if not isinstance(end, list):
            # Its process ends by itself when the worker stood still: the worker has to notice that too.
            self._worker.stop_if_not_trusted()
        await self._worker.told_end(self, self._outcome(end))

    def _time_out(self):
        self.stop(pb.OUTCOME_KIND_TIMED_OUT, f"ran longer than {self.assigned.timeout_ms / 1000:g} s")

    def _converse(self, loop):
        """In a thread: until the process has ended. Answers what it said last, if that was its end."""
        near, far = PROCESSES.Pipe()
        arguments = (self._handler, self.assigned.facts, far, self._worker.trust)
        process = PROCESSES.Process(target=execute, args=arguments, daemon=True)
        process.start()
        far.close()
        self._process = process
        if self._stop is not None:
            self._signal(signal.SIGKILL)
        end = None
        try:
            while end is None:
                kind, *said = near.recv()
                if kind == "end":
                    end = said
                else:
                    answer = asyncio.run_coroutine_threadsafe(self._hear(kind, said), loop).result()
                    if kind == "checkpoint":
                        near.send(answer)
        except (EOFError, OSError, pickle.UnpicklingError):
            pass  # The process is gone.
        process.join(GRACE_SECONDS)
        if process.is_alive():
            self._signal(signal.SIGKILL)
            process.join()
        near.close()
        return end if end is not None else process.exitcode

    async def _hear(self, kind, said):
        if kind == "output":
            stream, chunk = said
            mask = self._masks.setdefault(stream, StreamMask(self._forms))
            return await self._worker.told_output(self, stream, mask.write(chunk))
        if kind == "progress":
            percent, message = said
            return self._worker.told_progress(self, percent, mask_text(message, self._forms))
        return await self._worker.save_checkpoint(self, *said)

    def _signal(self, number):
        """To the process and everything it started. Its group has its number, once it has got that far."""
        process = self._process
        if process is None or process.exitcode is not None:
            return
        try:
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
        except ProcessLookupError:
            if number == signal.SIGKILL:
                process.kill()

    def _outcome(self, end):
        position = self.assigned.position
        told = isinstance(end, list)
        succeeded = told and end[0]
        cancelled = self._stop is not None and self._stop[0] == pb.OUTCOME_KIND_CANCELLED
        # A handler that finished although it was told to stop has finished: only a cancel overrules that.
        if self._stop is not None and (cancelled or not succeeded):
            return pb.Outcome(position=position, kind=self._stop[0], error=self._stop[1])
        if not told:
            error = f"the process of the run ended by signal {-end}" if end < 0 else f"the process of the run ended with {end}"
            return pb.Outcome(position=position, kind=pb.OUTCOME_KIND_FAILED, error=error, retryable=True)
        _, error, retryable, retry_after_ms, result = end
        result = mask_text(result, self._forms)
        if succeeded:
            return pb.Outcome(position=position, kind=pb.OUTCOME_KIND_SUCCESS, result=result)
        error = mask_text(error, self._forms).replace("\0", "")[:ERROR_LENGTH_MAX]
        return pb.Outcome(
            position=position,
            kind=pb.OUTCOME_KIND_FAILED,
            error=error,
            retryable=retryable,
            retry_after_ms=retry_after_ms,
            result=result,
        )
