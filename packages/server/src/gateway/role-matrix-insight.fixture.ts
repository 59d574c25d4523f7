/** The entries of the role matrix for what explains and counts: why, strips, search, versions, statistics, runs in bulk. */
import type { InjectOptions } from 'fastify';
import type { Scene } from './role-matrix.fixture.ts';
import { at, job } from './role-matrix-asks.fixture.ts';
import { here, type Rule, somewhere } from './role-matrix-rules.fixture.ts';

export interface Entry extends Rule {
  readonly ask: (scene: Scene) => Promise<Partial<InjectOptions>> | Partial<InjectOptions>;
}

const EVENTS = { headers: { accept: 'application/json' } };
const posted = (url: string, payload: object) => ({ url, payload });

const COMING_FIRE = '2090-01-01T09:00:00Z';

export const INSIGHT_ENTRIES: Record<string, Entry> = {
  'POST /jobs/{id}/skip': {
    ask: (scene) => ({ ...job('/skip')(scene), payload: { at: COMING_FIRE } }),
    ...here('jobs.pause'),
  },
  'POST /jobs/{id}/unskip': {
    ask: (scene) => ({ ...job('/unskip')(scene), payload: { at: COMING_FIRE } }),
    ...here('jobs.pause'),
  },
  'POST /jobs/{id}/restore': {
    ask: (scene) => ({ ...job('/restore')(scene), payload: { version: 1 } }),
    ...here('jobs.read', 'jobs.update'),
  },
  'GET /jobs/strips': {
    ask: (scene) => ({ url: `/jobs/strips?ids=${scene.jobId}` }),
    ...somewhere('runs.read'),
  },
  'GET /jobs/{id}/why': { ask: job('/why'), ...here('jobs.read') },
  'GET /jobs/{id}/versions': { ask: job('/versions'), ...here('jobs.read') },
  'GET /search': { ask: at('/search?q=cron'), ...somewhere('jobs.read') },
  'GET /runs/{id}/why': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/why` }),
    ...here('runs.read'),
  },
  'POST /runs/bulk to cancel': {
    ask: at('/runs/bulk', { action: 'cancel', filter: { handler: 'none' } }),
    ...somewhere('runs.cancel'),
  },
  'POST /runs/bulk to rerun': {
    ask: at('/runs/bulk', { action: 'rerun', filter: { handler: 'none' } }),
    ...somewhere('runs.rerun'),
  },
  'GET /stats': { ask: at('/stats'), ...somewhere('runs.read') },
  'GET /stats of a job': { ask: (scene) => ({ url: `/stats?job_id=${scene.jobId}` }), ...here('runs.read') },
  'GET /stats/now': { ask: at('/stats/now'), ...somewhere('runs.read') },
  'GET /failures': { ask: at('/failures'), ...somewhere('runs.read') },
  'GET /failures of a job': {
    ask: (scene) => ({ url: `/failures?job_id=${scene.jobId}` }),
    ...here('runs.read'),
  },
};

/** Other ways of naming a job or a run: what they answer must not tell whether it is there. */
export const NARROWED_ENTRIES: Record<string, Entry> = Object.fromEntries(
  (
    [
      ['GET /runs', ({ jobId }) => ({ url: `/runs?job_id=${jobId}&namespace=team-b` })],
      ['GET /runs', ({ jobId }) => ({ url: `/runs?job_id=${jobId}&namespace=unknown` })],
      ['GET /runs', ({ jobId }) => ({ url: `/runs?job_id=${jobId}&error=boom` })],
      ['GET /runs', ({ jobId }) => ({ url: `/runs?job_id=${jobId}&status=queued` })],
      ['GET /stats', ({ jobId }) => ({ url: `/stats?job_id=${jobId}&namespace=unknown` })],
      ['GET /failures', ({ jobId }) => ({ url: `/failures?job_id=${jobId}&namespace=unknown` })],
      ['GET /dead-letters', ({ jobId }) => ({ url: `/dead-letters?job_id=${jobId}` })],
      ['GET /events', ({ jobId }) => ({ ...EVENTS, url: `/events?job_id=${jobId}` })],
      ['GET /audit', ({ jobId }) => ({ url: `/audit?subject_id=${jobId}` })],
      ['GET /search', ({ jobId }) => ({ url: `/search?q=${jobId}` })],
      ['GET /search', ({ finishedRunId }) => ({ url: `/search?q=${finishedRunId}` })],
      ['POST /schedules/preview', ({ jobId }) => posted('/schedules/preview', { job_id: jobId })],
      ['POST /jobs/bulk', ({ jobId }) => posted('/jobs/bulk', { action: 'pause', job_ids: [jobId] })],
      [
        'POST /runs/bulk',
        ({ waitingRunId }) => posted('/runs/bulk', { action: 'cancel', run_ids: [waitingRunId] }),
      ],
      [
        'POST /runs/bulk',
        ({ jobId }) => posted('/runs/bulk', { action: 'cancel', filter: { job_id: jobId } }),
      ],
      [
        'POST /runs/bulk',
        ({ jobId }) => posted('/runs/bulk', { action: 'rerun', filter: { job_id: jobId, error: 'boom' } }),
      ],
      [
        'POST /dead-letters/redrive',
        ({ jobId }) => posted('/dead-letters/redrive', { filter: { job_id: jobId } }),
      ],
    ] satisfies [string, (scene: Scene) => Partial<InjectOptions>][]
  ).map(([name, ask], index) => [`${name} narrowed, ${index}`, { ask, ...somewhere() }]),
);
