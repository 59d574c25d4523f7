// Runs the command and stands between it and whoever started us: each signal reaches it exactly once, its exit code
// becomes ours, and it never outlives us, however we or npm end.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname } from 'node:path';

// Read before anything that takes long: npm may die while packages are being installed.
const PARENT = process.ppid;
// Elsewhere than on Linux each look starts a `ps`.
const PARENT_CHECK_MS = process.platform === 'linux' ? 250 : 1_000;
// On Ctrl-C the terminal and npm both signal us, milliseconds apart; a person's second Ctrl-C comes later and is passed on.
const SAME_SIGNAL_MS = 400;

/** Resolves with the exit code of `node ...args` once it has ended. */
export function runCommand(node, args, { cwd }) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...args], {
      cwd,
      // A group of its own: the terminal's Ctrl-C reaches it through us only, hence once.
      detached: true,
      // The fourth is a pipe nobody writes to: it closes when this process dies, however it dies, and tells the child.
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      env: {
        ...process.env,
        CARILLON_PARENT_FD: '3',
        PATH: [dirname(node), process.env.PATH].filter(Boolean).join(delimiter),
      },
    });
    const passOn = onceEach((signal) => child.kill(signal));
    process.on('SIGINT', () => passOn('SIGINT'));
    process.on('SIGTERM', () => passOn('SIGTERM'));
    process.on('SIGHUP', () => passOn('SIGTERM'));
    whenNpmDies(() => passOn('SIGTERM'));

    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

function onceEach(send) {
  const sentAt = new Map();
  return (signal) => {
    const now = performance.now();
    const before = sentAt.get(signal);
    sentAt.set(signal, now);
    if (before === undefined || now - before > SAME_SIGNAL_MS) send(signal);
  };
}

// npm killed with -9 cannot pass anything on; a changed parent is the only trace it leaves. Where the shell between npm
// and us stays, it is the shell's parent that changes.
function whenNpmDies(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = isShell(PARENT) ? PARENT : undefined;
  const npm = shell && parentOf(shell);
  const timer = setInterval(() => {
    if (process.ppid === PARENT && (npm === undefined || parentOf(shell) === npm)) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
  timer.unref();
}

function isShell(pid) {
  return /^-?(.*\/)?(sh|dash|ash|bash|zsh|ksh|busybox)$/.test(processField(pid, 'comm'));
}

function parentOf(pid) {
  return Number(processField(pid, 'ppid')) || undefined;
}

function processField(pid, field) {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', `${field}=`, '-p', `${pid}`], { encoding: 'utf8' }).trim();
    if (field === 'comm') return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    return /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}
