"""The example worker in Python with two more handlers, `visit` and `deaf` (see visit.ts)."""

import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../examples/python-worker"))


def visit(run):
    to, saves = run.payload["to"], run.payload["saves"]
    started_at = run.checkpoint or 0
    with socket.create_connection(("127.0.0.1", run.payload["port"])) as connection, connection.makefile("rw") as lines:

        def say(word, at):
            who = {"run_id": run.run_id, "epoch": run.epoch, "visitor": os.environ["VISITOR"]}
            line = json.dumps({"word": word, "at": at, **who})
            if not run.is_held():
                raise RuntimeError("the run is not held any more")
            lines.write(line + "\n")
            lines.flush()
            answer = lines.readline().strip()
            if answer != "ok":
                raise RuntimeError(f"the receiver answers {answer}")

        say("begin", started_at)
        for at in range(started_at + 1, to + 1):
            time.sleep(run.payload["step_ms"] / 1000)
            say("step", at)
            if saves:
                run.save_checkpoint(at)
                say("saved", at)
        say("end", to)
    return {"visited": to, "started_at": started_at}


def deaf(run):
    from run import Stopped

    until = time.monotonic() + run.payload["ms"] / 1000
    while time.monotonic() < until:
        try:
            time.sleep(until - time.monotonic())
        except Stopped:
            pass
    return run.payload


if __name__ == "__main__":
    import asyncio

    import handlers
    import main

    # By the name of this file: the processes of runs import the handler from there.
    import visiting_worker

    handlers.HANDLERS["visit"] = visiting_worker.visit
    handlers.HANDLERS["deaf"] = visiting_worker.deaf
    code = asyncio.run(main.work(main.parse_arguments()))
    sys.stderr.flush()
    os._exit(code)
