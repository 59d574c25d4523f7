/** What the end of a script means for its run: a result, or an error with the exit code, the signal and the reason. */
import { type JsonValue, SCRIPT_ERRORS } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';
import type { ScriptLimits } from './containment.ts';
import type { ScriptEnd } from './script-process.ts';

export interface SaidWords {
  /** From descriptor 3. */
  readonly answer: { readonly value: JsonValue } | undefined;
  readonly failure: { readonly error: string; readonly retryable: boolean } | undefined;
  /** The end of what it wrote to standard error, without secrets: it is cut here. */
  readonly lastErrors: string;
}

/** sysexits.h: a temporary failure, try again. */
const EXIT_TRY_AGAIN = 75;
const QUOTED_MAX = 500;
/** What interpreters write when the limit on memory stops them. */
const MEMORY_WORDS = /MemoryError|cannot allocate memory|out of memory|bad_alloc|failed to allocate memory/i;

/** Between two looks a script may use this much more than its limit: the kernel lets a process have a second more, too. */
const CPU_SLACK_SECONDS = 1;

/** Throws unless the script succeeded. */
export function answerOf(seen: ScriptEnd, words: SaidWords, limits: ScriptLimits): JsonValue {
  const end = withCpuJudged(seen, limits);
  const { code, signal } = end;
  const about = (reason: string) => ({
    exit_code: code ?? null,
    signal: signal ?? null,
    reason,
    ...(words.answer && { result: words.answer.value }),
  });
  if (words.failure && !end.broken) {
    const { error, retryable } = words.failure;
    const message = `${SCRIPT_ERRORS.reported}: ${error || 'it did not say which'}`;
    throw new HandlerError(message, { retryable, result: about('reported') });
  }
  if (code === 0 && !end.broken) return words.answer ? words.answer.value : { exit_code: 0 };
  const { reason, message } = reasonOf(end, words, limits);
  throw new HandlerError(message, { result: about(reason) });
}

/** It did not end by itself, so that what it said last may stop anywhere, also within a secret. */
export function isCutShort(seen: ScriptEnd, limits: ScriptLimits): boolean {
  const { signal, broken } = withCpuJudged(seen, limits);
  return signal !== undefined || broken !== undefined;
}

/** The kernel may end all that its processes do before anybody looks; a script that does not mind ends with 0 then. */
function withCpuJudged(end: ScriptEnd, { cpuSeconds }: ScriptLimits): ScriptEnd {
  const isOver = cpuSeconds > 0 && (end.cpuSeconds ?? 0) > cpuSeconds + CPU_SLACK_SECONDS;
  return isOver && end.broken === undefined ? { ...end, broken: 'cpu' } : end;
}

function reasonOf(
  end: ScriptEnd,
  { lastErrors }: SaidWords,
  limits: ScriptLimits,
): { reason: string; message: string } {
  const { code, signal, broken, sawOomKill } = end;
  const said = lastLineOf(lastErrors);
  const megabytes = Math.round(limits.memoryBytes / 1024 / 1024);
  if (broken === 'memory') {
    const message = `${SCRIPT_ERRORS.outOfMemory}: it used more than ${megabytes} MiB (script.memory_mb)`;
    return { reason: 'out_of_memory', message };
  }
  if (signal === 'SIGKILL' && broken === undefined && sawOomKill)
    return { reason: 'out_of_memory', message: `${SCRIPT_ERRORS.outOfMemory}: the machine had none left` };
  if (broken === 'cpu' || signal === 'SIGXCPU') {
    const message = `${SCRIPT_ERRORS.outOfCpuTime}: ${limits.cpuSeconds} s (script.cpu_seconds)`;
    return { reason: 'cpu_limit', message };
  }
  if (broken === 'processes') {
    const message = `${SCRIPT_ERRORS.signalled('SIGKILL')}: it had more than ${limits.processes} processes (script.processes)`;
    return { reason: 'process_limit', message };
  }
  if (signal === 'SIGXFSZ') {
    const bytes = `${limits.fileBytes} bytes (script.file_size_mb)`;
    return { reason: 'file_size_limit', message: `${SCRIPT_ERRORS.fileTooLarge}: ${bytes}` };
  }
  if (MEMORY_WORDS.test(lastErrors)) {
    const message = `${SCRIPT_ERRORS.outOfMemory}: the limit is ${megabytes} MiB (script.memory_mb): ${said}`;
    return { reason: 'out_of_memory', message };
  }
  if (signal !== undefined) {
    const hint = signal === 'SIGKILL' ? ' (Carillon did not send it)' : '';
    return { reason: 'signal', message: `${SCRIPT_ERRORS.signalled(signal)}${hint}` };
  }
  const asks = code === EXIT_TRY_AGAIN ? ' (it asks to be tried again)' : '';
  const quoted = said === '' ? '' : `: ${said}`;
  return {
    reason: code === EXIT_TRY_AGAIN ? 'try_again' : 'exit_code',
    message: `${SCRIPT_ERRORS.exited(code ?? 0)}${asks}${quoted}`,
  };
}

function lastLineOf(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim().slice(0, QUOTED_MAX) ?? '';
}

export function describeEnd(end: ScriptEnd, tookMs: number): string {
  const { code, signal, cpuSeconds, peakBytes } = end;
  const how = signal === undefined ? `exit code ${code}` : `ended by ${signal}`;
  const cpu = cpuSeconds === undefined ? '' : `, ${cpuSeconds.toFixed(2)} s of CPU time`;
  const memory =
    peakBytes === undefined || peakBytes === 0
      ? ''
      : `, at most ${(peakBytes / 1024 / 1024).toFixed(1)} MiB of memory`;
  return `${how} after ${(tookMs / 1000).toFixed(2)} s${cpu}${memory}`;
}
