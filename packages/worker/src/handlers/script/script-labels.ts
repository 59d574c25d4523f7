/**
 * What a worker says of the scripts that it runs, as labels: servers refuse jobs that nobody could run when they are submitted, and people
 * see it in lists of workers.
 */
import { realpath } from 'node:fs/promises';
import { SCRIPT_LABELS } from '@carillon/domain';
import { Interpreters } from './interpreter.ts';
import type { ScriptHandlerOptions } from './script-handler.ts';

/** Of one label; what is longer is not said, and nothing is refused by it. */
const LABEL_LENGTH_MAX = 200;

export async function scriptLabels({
  interpreters,
  path,
  roots,
}: Pick<ScriptHandlerOptions, 'interpreters' | 'path' | 'roots'>): Promise<Record<string, string>> {
  const names = await new Interpreters(interpreters, path).installed();
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
  const labels = {
    [SCRIPT_LABELS.interpreters]: names.join(','),
    ...(roots.length > 0 && { [SCRIPT_LABELS.roots]: [...new Set([...roots, ...real])].join(':') }),
  };
  const isSayable = Object.values(labels).every((value) => value.length <= LABEL_LENGTH_MAX);
  return isSayable && !roots.some((root) => root.includes(':')) ? labels : {};
}
