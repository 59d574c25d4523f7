"""Runs a program on a terminal of its own, types what it is told when it sees what it is told, and says how it ended.

Takes JSON as its argument: argv, cwd, env, columns, and steps of what to see and what to type then. Answers JSON: the exit code
(or minus the signal), everything that was written, and whether the terminal was left as a shell needs it.
"""
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

WAIT_S_MAX = 200

told = json.loads(sys.argv[1])
# The end of the program is held open here too: the settings of a terminal that nobody has open are gone.
terminal, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, told["columns"], 0, 0))
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for standard in (0, 1, 2):
        os.dup2(slave, standard)
    os.closerange(3, 256)
    os.chdir(told["cwd"])
    os.execve(told["argv"][0], told["argv"], told["env"])

steps = list(told["steps"])
written = b""
seen = 0
status = None
deadline = time.monotonic() + WAIT_S_MAX
while time.monotonic() < deadline:
    ready, _, _ = select.select([terminal], [], [], 0.05)
    if ready:
        written += os.read(terminal, 65536)
    elif status is not None:
        break
    else:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended:
            status = code
    if steps:
        at = written.find(steps[0]["see"].encode(), seen)
        if at >= 0:
            seen = at + len(steps[0]["see"].encode())
            os.write(terminal, steps.pop(0)["type"].encode())

if status is None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
local = termios.tcgetattr(slave)[3]
print(
    json.dumps(
        {
            "code": None if status is None else os.waitstatus_to_exitcode(status),
            "written": written.decode(errors="replace"),
            "isClean": bool(local & termios.ECHO) and bool(local & termios.ICANON),
            "unseen": [step["see"] for step in steps],
        }
    )
)
