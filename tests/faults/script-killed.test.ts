/** A server that is killed takes its scripts with it, however their processes hide, and their runs are run again (hazards 20, 35). */
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { probeContainment } from '../../packages/worker/src/handlers/script/containment.ts';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ServerStage } from '../support/server-stage.ts';

const SOON = { withinMs: 60_000 };
const FLAGS = ['--worker-silent-seconds', '4', '--node-ttl-seconds', '3'];
const MARK = `8000.${process.pid}`;

/** Each sleeps until somebody ends it. */
const HOSTILE = `
sleep ${MARK} &
setsid sleep ${MARK} &
( ( sleep ${MARK} & ) & )
nohup sleep ${MARK} >/dev/null 2>&1 &
env -i setsid sleep ${MARK} &
bash -c 'trap "" TERM HUP; sleep ${MARK}; sleep ${MARK}' &
trap 'setsid sleep ${MARK} &' TERM EXIT HUP
sleep ${MARK}
`;

let stage: ServerStage;
beforeEach(async () => {
  stage = await ServerStage.open();
});
afterEach(() => stage.close());

function sleepers(): number {
  const lines = readdirSync('/proc').map((name) => {
    try {
      return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'latin1') : '';
    } catch {
      return '';
    }
  });
  return lines.filter((line) => line.startsWith('sleep') && line.includes(MARK)).length;
}

const isContained = (await probeContainment(undefined, [])).kind === 'namespace';

it.runIf(isContained)('kill -9 of the server leaves no process of a script', async () => {
  const server = await stage.launch('first', FLAGS);
  const [jobId = ''] = await submitJobs(server, [
    { name: 'hostile', payload: { interpreter: 'bash', script: HOSTILE }, timeout_seconds: 600 },
  ]);
  await eventually(() => expect(sleepers()).toBe(7), SOON);
  await server.kill();
  await eventually(() => expect(sleepers()).toBe(0), SOON);

  const second = await stage.launch('second', FLAGS);
  await eventually(() => expect(sleepers()).toBe(7), SOON);
  const cancelled = await callApi(second, `/api/jobs/${jobId}/cancel`, { method: 'POST' });
  expect(cancelled.status).toBe(200);
  await eventually(() => expect(sleepers()).toBe(0), SOON);
});
