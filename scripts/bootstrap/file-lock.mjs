// Lets one bootstrap at a time install packages into a folder. A lock whose holder died, or no longer shows life, is
// taken over, so a killed installation never blocks the next one.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

const SIGN_OF_LIFE_MS = 2_000;
// The second proof of death, for a pid that was given to somebody else or lives in another container.
const SILENT_MS_MAX = 30_000;
const RETRY_MS = 200;

/** Runs `work` while holding `path`; waits while another living holder has it, and says so once through `onWait`. */
export async function withFileLock(path, work, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  let waiting = false;
  while (!take(path)) {
    if (isStale(path)) {
      discard(path);
      continue;
    }
    if (!waiting) onWait();
    waiting = true;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  const alive = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // The lock was removed by hand: the installation itself is not harmed by that.
    }
  }, SIGN_OF_LIFE_MS);
  try {
    return await work();
  } finally {
    clearInterval(alive);
    rmSync(path, { force: true });
  }
}

function take(path) {
  try {
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function isStale(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs > SILENT_MS_MAX) return true;
    const holder = JSON.parse(readFileSync(path, 'utf8'));
    return holder.host === hostname() && !isAlive(holder.pid);
  } catch {
    // Just released, or not yet written in full: the next try, or its silence, decides.
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// Renaming first makes sure that of two who judge the same lock stale only one removes it, and not a fresh one.
function discard(path) {
  const grave = `${path}.${process.pid}`;
  try {
    renameSync(path, grave);
    if (!isStale(grave)) renameSync(grave, path);
  } catch {
    // The other one was faster.
  } finally {
    rmSync(grave, { force: true });
  }
}
