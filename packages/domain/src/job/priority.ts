/**
 * Priority with ageing: a run is worth its waiting time plus a head start for its priority. Because waiting grows equally
 * for all, "head start + waiting" orders exactly like the fixed key dueAt - headStart, so a run never has to be re-ranked
 * and a low one can be overtaken only by what became due within the head start: it never starves.
 */
export const PRIORITIES = ['low', 'medium', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

const AGEING_STEP_MS = 10 * 60_000;

export function headStartMs(priority: Priority): number {
  return PRIORITIES.indexOf(priority) * AGEING_STEP_MS;
}

/** Smaller is more urgent. */
export function urgencyKey(run: { priority: Priority; fireAtMs: number }): number {
  return run.fireAtMs - headStartMs(run.priority);
}
