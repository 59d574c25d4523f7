/**
 * The server as people start it, with its embedded database. It has run a job before it is left alone: a server that never
 * worked would look smaller than one that has.
 */
import { type CarillonProcess, startCarillon } from '../servers/carillon-process.ts';
import { eventually } from '../servers/eventually.ts';

export type IdleServer = CarillonProcess & { runOneJob(): Promise<void> };

export async function startIdleServer(): Promise<IdleServer> {
  const server = await startCarillon();
  return { ...server, runOneJob: () => runOneJob(server.address, `Bearer ${server.adminKey}`) };
}

async function runOneJob(address: string, authorization: string): Promise<void> {
  const created = await fetch(`${address}/api/jobs`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'hello', handler: 'http', payload: { url: `${address}/health/live` } }),
  });
  if (created.status !== 201) throw new Error(`a job was refused: ${await created.text()}`);
  const { job_id: jobId } = (await created.json()) as { job_id: string };
  await eventually(async () => {
    const answer = await fetch(`${address}/api/jobs/${jobId}/status`, { headers: { authorization } });
    const { status } = (await answer.json()) as { status: string };
    if (status !== 'completed') throw new Error(`a job that calls the server itself is ${status}`);
  }, 10_000);
}
