/** Any error as what a person is told and what the process ends with. Only a bug shows its stack. */
import { CarillonError } from '@carillon/client';
import { CommandFailure } from './command-failure.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { UsageError } from './usage-error.ts';

export interface Explained {
  readonly message: string;
  readonly fix: string | undefined;
  readonly exitCode: ExitCode;
  /** For --json: what a program can act on. */
  readonly code: string;
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

export function explainError(error: unknown): Explained {
  if (error instanceof UsageError) {
    return { message: error.message, fix: error.fix, exitCode: EXIT.usage, code: 'usage', details: {} };
  }
  if (error instanceof CommandFailure) {
    return { message: error.message, fix: error.fix, exitCode: EXIT.failed, code: 'failed', details: {} };
  }
  if (error instanceof CarillonError) {
    const { code, field, status, requestId, message } = error;
    return {
      message: field === undefined || message.startsWith(field) ? message : `${field}: ${message}`,
      fix: FIXES[code] ?? error.fix,
      exitCode: exitCodeOf(error),
      code,
      details: { field, status, request_id: requestId },
    };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { message: text, fix: undefined, exitCode: EXIT.failed, code: 'internal', details: {} };
}

function exitCodeOf({ status, code }: CarillonError): ExitCode {
  if (code === 'url_invalid') return EXIT.usage;
  if (status === undefined) return EXIT.unreachable;
  if (status === 401 || status === 403) return EXIT.notAllowed;
  return status === 404 ? EXIT.notFound : EXIT.failed;
}

/** Where the server's advice speaks of requests, and there is a command for it. */
export const FIXES: Readonly<Record<string, string>> = {
  unauthorized: 'Sign in with `carillon login`, or give a key with --key or CARILLON_KEY.',
  job_not_found: '`carillon jobs list` shows the jobs you may see.',
  run_not_found: '`carillon runs list <job>` shows the runs of a job.',
  dead_letter_not_found: '`carillon dlq list` shows them.',
  namespace_not_found: '`carillon namespaces list` shows those you may see.',
  namespace_in_use: 'Remove its jobs first: `carillon jobs list --namespace`, `carillon jobs delete`.',
  user_not_found: '`carillon users list` shows them.',
  key_not_found: '`carillon keys list` shows them.',
  worker_not_found: '`carillon workers` shows them.',
  version_mismatch: 'It was changed meanwhile: look at it with `carillon jobs show`, and try again.',
  job_already_finished: '`carillon jobs run` runs it again; `carillon jobs update` gives it a new schedule.',
};
