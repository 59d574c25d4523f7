/**
 * Ends the process together with the one that started it. The starter holds the other end of a pipe and never writes to
 * it: the pipe closes when the starter dies, even by kill -9, and that is the one message it can still send.
 */
import { Socket } from 'node:net';

/**
 * Calls `onGone` once, when the starter named by CARILLON_PARENT_FD is gone. Does nothing when no starter is named, and
 * never keeps the process alive by itself.
 */
export function stopWithParent(onGone: () => void): void {
  const fd = Number(process.env.CARILLON_PARENT_FD);
  if (!Number.isInteger(fd) || fd < 3) return;
  // A child of ours has another parent: it must not take our pipe for its own.
  delete process.env.CARILLON_PARENT_FD;

  let gone = false;
  const notice = (): void => {
    if (gone) return;
    gone = true;
    onGone();
  };
  try {
    const pipe = new Socket({ fd, readable: true, writable: false });
    pipe.on('error', notice).on('close', notice).resume();
    pipe.unref();
  } catch {
    // The variable names a descriptor that is not open: it was inherited from a process that is not our starter.
  }
}
