/**
 * Refuses a script job that nobody could run: its interpreter is installed on no worker that runs scripts, or its file lies in no folder that
 * one of them runs scripts from. What is not known is not refused: when nobody runs scripts now, or one does not say which.
 */
import { normalize } from 'node:path';
import { type JobDefinition, type JsonObject, refuseValue, SCRIPT_LABELS } from '@carillon/domain';
import type { OfferingWorker } from '../storage/member-store.ts';

type OfWorker = Pick<OfferingWorker, 'labels'>;

export function scriptCheck(running: readonly OfWorker[]): (job: Pick<JobDefinition, 'payload'>) => void {
  const isKnown = running.every(({ labels }) => labels[SCRIPT_LABELS.interpreters] !== undefined);
  if (running.length === 0 || !isKnown) return () => undefined;
  const all = (label: string, separator: string) => [
    ...new Set(
      running.flatMap(({ labels }) => labels[label]?.split(separator).filter((text) => text !== '') ?? []),
    ),
  ];
  const interpreters = all(SCRIPT_LABELS.interpreters, ',');
  const roots = all(SCRIPT_LABELS.roots, ':');
  return ({ payload }) => {
    const { interpreter, code_location: location } = JSON.parse(payload) as JsonObject;
    if (typeof interpreter === 'string' && !interpreters.includes(interpreter))
      refuseValue(
        'payload.interpreter',
        `payload.interpreter: nobody who runs scripts here has "${interpreter}". There is ${listed(interpreters)}. Install it and name it in script.interpreters of a server, or use another.`,
      );
    if (
      typeof location === 'string' &&
      location.startsWith('/') &&
      !roots.some((root) => liesIn(location, root))
    )
      refuseValue(
        'payload.code_location',
        `payload.code_location: nobody who runs scripts here runs them from there. There is ${listed(roots)}. Move the file, name its folder in script.roots of a server, or give its source in payload.script.`,
      );
  };
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

function liesIn(path: string, root: string): boolean {
  return normalize(path).startsWith(root.endsWith('/') ? root : `${root}/`);
}
