/**
 * How a script is kept within its bounds, and how nothing of it outlives it (hazard 35). Best is a PID namespace: when its first process
 * ends, the kernel ends all others, however they were started, also when the worker dies. Where namespaces are forbidden (most
 * containers) a process group and a cookie in the environment find what is left, but for programs that drop both.
 */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { asVariables, containCommand, type LimitName } from './contain-program.ts';
import { asWords, type HiddenPath, UNREACHABLE } from './hidden-paths.ts';
import type { UserIds } from './run-folder.ts';

const PROBE_TIMEOUT_MS = 10_000;

export interface ScriptLimits {
  readonly memoryBytes: number;
  /** Of the whole tree; 0: no limit. */
  readonly cpuSeconds: number;
  readonly processes: number;
  readonly files: number;
  readonly fileBytes: number;
}

export interface Containment {
  readonly kind: 'namespace' | 'group';
  /** Folders can be hidden from scripts, and shared memory is their own. */
  readonly canHide: boolean;
  /** Limits are set on processes; else only what the worker itself counts is limited. */
  readonly hasLimits: boolean;
  /** A tool that makes the script end when the worker does, and keeps it from gaining rights, is installed. */
  readonly hasSetpriv: boolean;
  /** One program does what else takes a chain of them. */
  readonly isOneStep?: boolean;
}

export interface Contained {
  readonly limits: ScriptLimits;
  /** Folders and files that the script must not see. */
  readonly hidden: readonly HiddenPath[];
  readonly mergeOutput: boolean;
  readonly command: readonly string[];
}

/** By their whole paths: the PATH of a job must not decide which programs contain it. */
const [SETPRIV, UNSHARE, PRLIMIT, SHELL] = [
  '/usr/bin/setpriv',
  '/usr/bin/unshare',
  '/usr/bin/prlimit',
  '/bin/sh',
];
const [MOUNT, STAT] = ['/bin/mount', '/usr/bin/stat'];

const LEAVE_WITH_WORKER = [SETPRIV, '--no-new-privs', '--pdeathsig', 'KILL'];
const NAMESPACE = [
  UNSHARE,
  '--user',
  '--map-current-user',
  '--pid',
  '--ipc',
  '--fork',
  '--kill-child=KILL',
  '--mount-proc',
];
const DROP_RIGHTS = [SETPRIV, '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'];

/**
 * Shared memory is the script's own and goes with it. Covers each path that it can reach; the script that follows cannot uncover them,
 * since it has no rights left.
 */
const HIDE = `if [ -d /dev/shm ]; then ${MOUNT} -t tmpfs -o size=64m,mode=1777,nosuid,nodev none /dev/shm || exit 125; fi
n=$1; shift
while [ "$n" -gt 0 ]; do
  at="$2/$3"; is=
  [ "$1" = ${UNREACHABLE} ] || is="$(${STAT} -L -c %d:%i "$2")"
  [ -z "$4" ] || [ "$1" = ${UNREACHABLE} ] || is="$is $(${STAT} -L -c %d:%i "$at")"
  [ "$1" = ${UNREACHABLE} ] || [ "$is" = "$1\${4:+ $4}" ] || {
    echo "the script cannot be contained: $at, which is hidden from scripts, is not where it was" >&2
    exit 125
  }
  if [ -d "$at" ]; then ${MOUNT} -t tmpfs -o size=4k,mode=0,ro none "$at" || exit 125
  elif [ -e "$at" ]; then ${MOUNT} --bind /dev/null "$at" || exit 125; fi
  shift 4; n=$((n-1))
done
exec "$@"`;

/** When memory runs out the kernel should choose the script, not the worker. */
const FIRST_TO_GO = '{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null';

/**
 * The first process of the namespace. The script itself must not be it: as process 1 it would ignore TERM. It tells on descriptor 4 what
 * its children used. Its own messages ("Killed") are no output of the script,
 * so that what the script writes to is open in a shell within it alone.
 */
const INIT = (errors: string) =>
  `${FIRST_TO_GO}; exec 9>&2 2>/dev/null; (exec "$@" ${errors} 4>&- 9>&-); code=$?; times >&4; exit $code`;

/** Descriptor 4 is open as long as the worker lives: at its end the group is killed. */
const WATCHED = (errors: string) =>
  `${FIRST_TO_GO}; { read -r end; kill -KILL 0; } <&4 >/dev/null 2>&1 3>&- & exec 4<&-; exec "$@" ${errors}`;

export function commandLine(containment: Containment, contained: Contained): string[] {
  const { limits, hidden, mergeOutput, command } = contained;
  const leave = containment.hasSetpriv ? LEAVE_WITH_WORKER : [];
  const isGroup = containment.kind === 'group';
  if (containment.isOneStep) {
    const inOne = containCommand({
      limits: limitsOf(limits, { perUser: false }),
      hidden,
      mergeOutput,
      command,
    });
    if (inOne) return inOne;
  }
  const bounds = containment.hasLimits ? prlimit(limits, { perUser: isGroup }) : [];
  if (isGroup)
    return [...leave, ...bounds, SHELL, '-c', WATCHED(mergeOutput ? '2>&1' : ''), 'sh', ...command];
  const init = [SHELL, '-c', INIT(mergeOutput ? '2>&1' : '2>&9'), 'sh', ...command];
  if (!containment.canHide) return [...leave, ...NAMESPACE, ...bounds, ...init];
  return [
    ...[...leave, ...NAMESPACE, '--keep-caps', SHELL, '-c', HIDE, 'sh', String(hidden.length)],
    ...hidden.flatMap(asWords),
    ...[...DROP_RIGHTS, ...bounds, ...init],
  ];
}

/**
 * What the first process is started with: of the script, or only what it is found by. Then the others are handed over on descriptor 4.
 */
export function environmentFor(
  { isOneStep = false }: Containment,
  env: Readonly<Record<string, string>>,
  foundBy: Readonly<Record<string, string>>,
): { readonly env: Readonly<Record<string, string>>; readonly handed?: string } {
  const all = { ...env, ...foundBy };
  return isOneStep ? { env: foundBy, handed: asVariables(all).toString('base64') } : { env: all };
}

/** Soft and hard. Inside a namespace processes are counted for it alone. Outside they are counted with all others of the user: not limited there. */
function limitsOf(
  { memoryBytes, cpuSeconds, processes, files, fileBytes }: ScriptLimits,
  { perUser }: { perUser: boolean },
): (readonly [LimitName, number, number])[] {
  const both = (name: LimitName, value: number) => [name, value, value] as const;
  return [
    both('core', 0),
    both('data', memoryBytes),
    both('nofile', files),
    both('fsize', fileBytes),
    ...(cpuSeconds > 0 ? [['cpu', cpuSeconds, cpuSeconds + 1] as const] : []),
    // The first process of the namespace is not the script's.
    ...(perUser ? [] : [both('nproc', processes + 1)]),
  ];
}

function prlimit(limits: ScriptLimits, of: { perUser: boolean }): string[] {
  return [PRLIMIT, ...limitsOf(limits, of).map(([name, soft, hard]) => `--${name}=${soft}:${hard}`), '--'];
}

/** What works here for this user: tried once, with a command that does nothing. */
export async function probeContainment(
  user: UserIds | undefined,
  hidden: readonly HiddenPath[],
): Promise<Containment> {
  const limits: ScriptLimits = {
    memoryBytes: 2 ** 30,
    cpuSeconds: 60,
    processes: 64,
    files: 64,
    fileBytes: 2 ** 20,
  };
  const tried: Containment[] = [
    { kind: 'namespace', canHide: true, hasLimits: true, hasSetpriv: true, isOneStep: true },
    { kind: 'namespace', canHide: true, hasLimits: true, hasSetpriv: true },
    { kind: 'namespace', canHide: false, hasLimits: true, hasSetpriv: true },
    { kind: 'group', canHide: false, hasLimits: true, hasSetpriv: true },
    { kind: 'group', canHide: false, hasLimits: false, hasSetpriv: true },
  ];
  if (process.platform === 'linux')
    for (const containment of tried) {
      const contained = { limits, hidden, mergeOutput: false, command: [SHELL, '-c', ':'] };
      if (await succeeds(containment, contained, user)) return containment;
      // What cannot be hidden keeps scripts from starting. Only where nothing can be hidden they run without it.
      if (containment.canHide && (await succeeds(containment, { ...contained, hidden: [] }, user)))
        return containment;
    }
  return { kind: 'group', canHide: false, hasLimits: false, hasSetpriv: false };
}

/** Started as a script is, in a group of its own: the command may kill its group. */
function succeeds(
  containment: Containment,
  contained: Contained,
  user: UserIds | undefined,
): Promise<boolean> {
  const [program = '', ...args] = commandLine(containment, contained);
  const { env, handed = '' } = environmentFor(containment, {}, {});
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...{ cwd: '/', env, detached: true, timeout: PROBE_TIMEOUT_MS, ...user },
      stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
    });
    const last = child.stdio[4] as Writable | null | undefined;
    last?.on('data', () => undefined).on('error', () => undefined);
    last?.write(Buffer.from(handed, 'base64'));
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}
