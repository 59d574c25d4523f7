"""The handlers that this worker offers, by name. Put your own here: a handler gets its run, and answers JSON or None."""

import time

from run import HandlerError


def resize_image(run):
    """A sample that does nothing: answers what it would have made."""
    width = int(run.payload.get("width", 640))
    run.log(f"resize {run.payload.get('url', 'nothing')} to {width}")
    return {"width": width, "height": width * 3 // 4}


def count(run):
    """Counts to `to`, one step each `step_ms`, and goes on where an earlier attempt was stopped."""
    to = int(run.payload.get("to", 10))
    started_at = run.checkpoint or 0
    for number in range(started_at + 1, to + 1):
        time.sleep(float(run.payload.get("step_ms", 1000)) / 1000)
        run.log(f"counted {number}")
        run.save_checkpoint(number)
        run.progress(100 * number / to, f"{number} of {to}")
    return {"counted": to, "started_at": started_at}


def wait(run):
    """Waits for `ms` milliseconds, unless it is told to stop."""
    time.sleep(float(run.payload.get("ms", 1000)) / 1000)
    return {"waited_ms": run.payload.get("ms", 1000)}


def fail(run):
    """Fails, for good when the payload says `"retryable": false`."""
    raise HandlerError(str(run.payload.get("message", "it failed")), retryable=bool(run.payload.get("retryable", True)))


def echo(run):
    """Writes its payload to the log and answers it."""
    run.log(str(run.payload.get("text", "")))
    run.log_error(f"attempt {run.attempt}, epoch {run.epoch}")
    return run.payload


HANDLERS = {"resize-image": resize_image, "count": count, "wait": wait, "fail": fail, "echo": echo}
