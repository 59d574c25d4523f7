/**
 * What a submit costs at the least here: Fastify, one route, no checks beyond JSON, and one insert per group of requests,
 * answered when it is durable. Run with DATABASE_URL; prints its address.
 */
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import pg from 'pg';
import { BatchBuffer } from '../../packages/foundation/src/batch-buffer.ts';
import { textArray } from '../../packages/server/src/postgres/array-literal.ts';

type Job = { readonly id: string; readonly name: string; readonly payload: string };

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 });
await pool.query(
  'CREATE TABLE jobs (job_id uuid PRIMARY KEY, name text NOT NULL, payload jsonb, created_at timestamptz NOT NULL DEFAULT now())',
);

const buffer = new BatchBuffer<Job, undefined>({
  flush: async (jobs) => {
    await pool.query({
      name: 'insert',
      text: 'INSERT INTO jobs (job_id, name, payload) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[]::jsonb[])',
      values: [
        textArray(jobs.map((job) => job.id)),
        textArray(jobs.map((job) => job.name)),
        textArray(jobs.map((job) => job.payload)),
      ],
    });
    return [];
  },
  batchMax: 1_000,
  flushesMax: 2,
  capacity: 50_000,
  onFull: () => new Error('full'),
});

const app = fastify();
app.post<{ Body: { name: string; payload: unknown } }>('/jobs', async (request, reply) => {
  const id = randomUUID();
  await buffer.add({ id, name: request.body.name, payload: JSON.stringify(request.body.payload) });
  reply.code(201);
  return { job_id: id };
});
const address = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ address });
process.once('disconnect', () => process.exit(0));
