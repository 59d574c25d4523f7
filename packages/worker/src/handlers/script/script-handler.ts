/**
 * The `script` handler: runs a program in any language as a process tree of its own, contained and limited, and passes on what it says.
 * Nothing of a payload is ever read by a shell: the script is a file, arguments are a vector, variables are an environment (hazard 36).
 */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { type JsonValue, RUN_ERRORS, SCRIPT_ERRORS, variableRefusal } from '@carillon/domain';
import { type Handler, HandlerError, type RunContext } from '../../handler.ts';
import { EgressPolicy, type EgressRules, type OwnEndpoint } from '../egress-policy.ts';
import { type Containment, probeContainment, type ScriptLimits } from './containment.ts';
import { ControlLines } from './control-lines.ts';
import { ScriptFetcher } from './fetch-script.ts';
import { type HiddenPath, locateHidden } from './hidden-paths.ts';
import { DEFAULT_INTERPRETERS, DEFAULT_PATH, Interpreters } from './interpreter.ts';
import { keepArtifacts } from './keep-artifacts.ts';
import { pipeStock } from './named-pipes.ts';
import { placeScript } from './place-script.ts';
import { RunFolder, removeLeftFolders, type UserIds } from './run-folder.ts';
import { answerOf, describeEnd, isCutShort } from './script-end.ts';
import { scriptGuard } from './script-guard.ts';
import { scriptLauncher } from './script-launcher.ts';
import { readScriptPayload, type ScriptCall } from './script-payload.ts';
import { ScriptProcess } from './script-process.ts';
import { note, ScriptWords } from './script-words.ts';
import { TreeSampler } from './tree-sampler.ts';

export interface ScriptHandlerOptions {
  /** Names of programs, or name=/path. */
  readonly interpreters: readonly string[];
  /** Folders that code_location may name files in. */
  readonly roots: readonly string[];
  /** PATH of scripts, where interpreters are looked up. */
  readonly path: string;
  /** Variables of the worker's own environment that scripts get. */
  readonly passEnv: readonly string[];
  /** Who runs scripts. Left out: the user of the worker. */
  readonly user?: UserIds | undefined;
  readonly limits: ScriptLimits;
  /** Between TERM and KILL. Less than the engine waits for a handler that was told to stop. */
  readonly graceMs: number;
  /** Where the folders of runs are made. */
  readonly workFolder: string;
  /** Where scripts from https addresses are kept. */
  readonly cacheFolder?: string | undefined;
  /** Folders and files that no script may see, such as the data folder of the server; where the machine allows it. */
  readonly hidden: readonly string[];
  readonly egress: EgressRules;
  readonly own?: () => readonly OwnEndpoint[];
  /** Left out: what works here is found out before the first run. */
  readonly containment?: Containment;
  /** Certificates that addresses of scripts are checked by, instead of those that Node trusts. */
  readonly ca?: string;
}

const MIB = 1024 * 1024;
/** After the grace of a script that had to stop, its files have this long: together less than the engine waits. */
const AFTER_GRACE_MS = 500;

export const SCRIPT_DEFAULTS: ScriptHandlerOptions = {
  interpreters: DEFAULT_INTERPRETERS,
  roots: [],
  path: DEFAULT_PATH,
  passEnv: [],
  limits: { memoryBytes: 1024 * MIB, cpuSeconds: 3_600, processes: 256, files: 1_024, fileBytes: 1024 * MIB },
  graceMs: 4_000,
  workFolder: tmpdir(),
  hidden: [],
  egress: { profile: 'open', allow: [], denyNetworks: [] },
};

export function createScriptHandler(given: Partial<ScriptHandlerOptions> = {}): Handler {
  const options = { ...SCRIPT_DEFAULTS, ...given };
  const parts: Parts = {
    options,
    interpreters: new Interpreters(options.interpreters, options.path),
    fetcher: new ScriptFetcher({
      cacheFolder: options.cacheFolder,
      policy: new EgressPolicy(options.egress, options.own),
      ca: options.ca,
    }),
    sampler: new TreeSampler(),
  };
  // Now, and not before the first script: others on this machine may run scripts of the same user until then.
  const hidden = locateHidden(options.hidden, options.user);
  hidden.catch(() => undefined);
  let ready: Promise<Prepared> | undefined;
  return async (context) => {
    ready ??= prepare(options, await hidden);
    return runScript(context, { ...parts, ...(await ready) });
  };
}

interface Prepared {
  readonly containment: Containment;
  readonly hidden: readonly HiddenPath[];
}

async function prepare(
  { workFolder, containment, user }: ScriptHandlerOptions,
  hidden: readonly HiddenPath[],
): Promise<Prepared> {
  await removeLeftFolders(workFolder);
  return { hidden, containment: containment ?? (await probeContainment(user, hidden)) };
}

interface Parts {
  readonly options: ScriptHandlerOptions;
  readonly interpreters: Interpreters;
  readonly fetcher: ScriptFetcher;
  readonly sampler: TreeSampler;
}

type Ready = Parts & Prepared;

async function runScript(context: RunContext, parts: Ready): Promise<JsonValue> {
  const call = readScriptPayload(context.payload);
  const { options } = parts;
  const folder = await RunFolder.make(options.workFolder, options.user);
  try {
    return await runIn(folder, call, context, parts);
  } finally {
    await folder.remove().catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      note(context, `the folder ${folder.path} could not be removed: ${reason}`);
    });
  }
}

async function runIn(
  folder: RunFolder,
  call: ScriptCall,
  context: RunContext,
  { options, interpreters, fetcher, sampler, containment, hidden }: Ready,
): Promise<JsonValue> {
  const script = await placeScript(folder, call.source, {
    ...{ roots: options.roots, fetcher, signal: context.signal },
  });
  const interpreter = await interpreters.commandOf(call.interpreter, script.firstLine);
  const payloadFile = await folder.write('payload.json', JSON.stringify(context.payload));
  const stdinFile = call.stdin === undefined ? payloadFile : await folder.write('stdin', call.stdin);
  const saved = context.checkpoint.value;
  const checkpointFile = `${folder.path}/checkpoint.json`;
  if (saved !== undefined) await folder.write('checkpoint.json', JSON.stringify(saved));
  const artifacts = await folder.makeFolder('artifacts');
  const words = new ScriptWords(context);
  const lines = new ControlLines(words);
  const running = new ScriptProcess({
    command: [...interpreter, script.path, ...call.args],
    env: {
      ...environmentOf(options, folder.path),
      ...call.env,
      CARILLON_JOB_ID: context.jobId,
      CARILLON_RUN_ID: context.runId,
      CARILLON_ATTEMPT: String(context.attempt),
      CARILLON_EPOCH: String(context.epoch),
      CARILLON_SCHEDULED_AT: context.scheduledAt.toISOString(),
      CARILLON_PAYLOAD_FILE: payloadFile,
      CARILLON_CHECKPOINT_FILE: checkpointFile,
      CARILLON_ARTIFACTS: artifacts,
    },
    folder,
    stdinFile,
    mergeOutput: call.mergeOutput,
    cookie: randomUUID(),
    ...{ containment, sampler, user: options.user, hidden },
    ...{ limits: options.limits, graceMs: options.graceMs },
    ...{ launcher: scriptLauncher, pipes: pipeStock, guard: scriptGuard, trust: context.trust },
    onOutput: (stream, bytes) => words.output(stream, bytes),
    onControl: (bytes) => lines.push(bytes),
  });
  const { signal } = context;
  let stoppedAt: number | undefined;
  const stop = () => {
    stoppedAt = performance.now();
    running.stop();
  };
  signal.addEventListener('abort', stop);
  const startedAt = performance.now();
  try {
    const end = await running.run(() => !signal.aborted && context.isHeld()).catch(notStarted);
    if (!end) throw new HandlerError(RUN_ERRORS.takenBack());
    lines.end();
    words.end(signal.aborted || isCutShort(end, options.limits));
    await words.saved();
    // A run that comes to its end meanwhile has run all the same.
    const hadToStop = signal.aborted;
    await keepArtifacts(
      context,
      { path: artifacts, owner: options.user },
      { stoppedAt: () => stoppedAt, stopMsMax: options.graceMs + AFTER_GRACE_MS },
    );
    context.used({ peakMemoryBytes: end.peakBytes || undefined, cpuSeconds: end.cpuSeconds });
    note(context, describeEnd(end, performance.now() - startedAt));
    // A worker that stood still may see what its guard did before it learns that the run is not its own any more.
    if (end.signal === 'SIGKILL') context.isHeld();
    // What it answered on its way out is no answer: the engine knows why it was stopped.
    if (hadToStop) throw new HandlerError(signal.reason instanceof Error ? signal.reason.message : 'stopped');
    return answerOf(end, words, options.limits);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A clean environment: nothing of the worker's own, which may hold secrets, but what the settings name. */
function environmentOf({ path, passEnv }: ScriptHandlerOptions, folder: string): Record<string, string> {
  const passed = passEnv.flatMap((name) => {
    const value = process.env[name];
    return value === undefined || variableRefusal(name) !== undefined ? [] : [[name, value] as const];
  });
  return {
    PATH: path,
    HOME: folder,
    TMPDIR: folder,
    LANG: 'C.UTF-8',
    // Output is to be seen when it is written, not when a buffer is full.
    PYTHONUNBUFFERED: '1',
    ...Object.fromEntries(passed),
  };
}

/** No memory or no process number may pass; a program that is not there does not come by itself. */
function notStarted(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  const retryable = code !== 'ENOENT' && code !== 'EACCES' && code !== 'E2BIG';
  const why = code === 'E2BIG' ? 'its arguments and variables are too long' : message;
  throw new HandlerError(`${SCRIPT_ERRORS.notStarted}: ${why}`, { retryable, cause: error });
}
