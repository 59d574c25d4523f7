/** The promise of docs/compatibility.md: callers of the last release go on as before. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { BUF, CONTRACT, presentOpenApi, RELEASED } from '../../scripts/snapshot-interface.ts';
import { ACCEPTED_BREAKS } from './accepted-breaks.ts';
import { compareOpenApi, type OpenApi } from './compare-openapi.ts';

const present = presentOpenApi() as unknown as OpenApi;

async function lastRelease(): Promise<string> {
  const versions = (await readdir(RELEASED)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return join(RELEASED, versions.at(-1)!);
}

async function restBreaks(): Promise<string[]> {
  const former = JSON.parse(await readFile(join(await lastRelease(), 'openapi.json'), 'utf8')) as OpenApi;
  return compareOpenApi(former, present);
}

/** As buf words them, with the file but without the line. */
async function rpcBreaks(): Promise<string[]> {
  const against = join(await lastRelease(), 'rpc.binpb');
  const { stdout } = await promisify(execFile)(BUF, ['breaking', '--against', against], {
    cwd: CONTRACT,
  }).catch((error: { code?: number; stdout: string }) => {
    // 100: breaks were found.
    if (error.code === 100) return error;
    throw error;
  });
  return stdout.split('\n').flatMap((line) => line.replace(/:\d+:\d+:/, ': ') || []);
}

test('REST and RPC break nothing of the last release, except for what is accepted with its reason', async () => {
  const found = [...(await restBreaks()), ...(await rpcBreaks())];
  expect(found.filter((one) => !ACCEPTED_BREAKS.some((accepted) => accepted.break === one))).toEqual([]);
  const stale = ACCEPTED_BREAKS.filter((accepted) => !found.includes(accepted.break));
  expect(stale, 'accepted, and not there (any more): remove the entry').toEqual([]);
  for (const { why } of ACCEPTED_BREAKS) expect(why.length).toBeGreaterThan(20);
});

describe('the comparison of two interfaces', () => {
  const FORMER: OpenApi = {
    paths: {
      '/api/jobs': {
        get: {
          operationId: 'getJobs',
          security: [],
          parameters: [
            {
              name: 'limit',
              in: 'query',
              required: false,
              schema: { type: 'integer', minimum: 1, maximum: 100 },
            },
          ],
          responses: {
            200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Job' } } } },
          },
        },
        post: {
          operationId: 'postJobs',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/NewJob' } } },
          },
          responses: { 201: {}, default: { $ref: '#/components/responses/Problem' } },
        },
      },
    },
    components: {
      schemas: {
        NewJob: {
          type: 'object',
          properties: {
            name: { type: 'string', maxLength: 200 },
            kind: { enum: ['a', 'b'] },
            at: { type: ['string', 'number', 'null'] },
            tags: { type: 'array', items: { type: 'string' } },
            labels: { type: 'object', additionalProperties: { type: 'string' } },
            size: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
          },
          required: ['name'],
          additionalProperties: false,
        },
        Job: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            kind: { enum: ['a', 'b'] },
            size: { type: 'integer' },
            parent: { $ref: '#/components/schemas/Job' },
            runs: { type: 'array', items: { type: 'object', properties: { at: { type: 'string' } } } },
          },
          required: ['id', 'kind', 'size'],
        },
        Problem: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
      },
      responses: {
        Problem: {
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  };

  // biome-ignore lint/suspicious/noExplicitAny: a document that a test takes apart.
  type Loose = any;
  const breaksOf = (change: (api: Loose) => void): string[] => {
    const api: Loose = structuredClone(FORMER);
    change(api);
    return compareOpenApi(FORMER, api);
  };
  const jobs = (api: Loose) => api.paths['/api/jobs'];
  const taken = (api: Loose) => api.components.schemas.NewJob;
  const told = (api: Loose) => api.components.schemas.Job;

  const BODY = 'POST /api/jobs, request body';
  const ANSWER = 'GET /api/jobs, answer 200';

  test.each<[string, (api: Loose) => void, string]>([
    [
      'a removed path',
      (api) => delete api.paths['/api/jobs'],
      'GET /api/jobs: the operation was removed\nPOST /api/jobs: the operation was removed',
    ],
    ['a removed method', (api) => delete jobs(api).get, 'GET /api/jobs: the operation was removed'],
    [
      'another operationId',
      (api) => Object.assign(jobs(api).get, { operationId: 'listJobs' }),
      'GET /api/jobs: operationId getJobs became listJobs',
    ],
    [
      'a credential that was not needed',
      (api) => jobs(api).get.security.push({ key: [] }),
      'GET /api/jobs: was open to everybody and needs a credential',
    ],
    [
      'a removed parameter',
      (api) => jobs(api).get.parameters.pop(),
      'GET /api/jobs, query parameter limit: removed',
    ],
    [
      'a parameter that became required',
      (api) => Object.assign(jobs(api).get.parameters[0], { required: true }),
      'GET /api/jobs, query parameter limit: became required',
    ],
    [
      'a new required parameter',
      (api) =>
        jobs(api).get.parameters.push({
          name: 'user',
          in: 'query',
          required: true,
          schema: { type: 'string' },
        }),
      'GET /api/jobs, query parameter user: is new and required',
    ],
    [
      'a narrower bound',
      (api) => Object.assign(jobs(api).get.parameters[0].schema, { maximum: 50 }),
      'GET /api/jobs, query parameter limit: maximum 100 became 50',
    ],
    [
      'a bound where there was none',
      (api) => Object.assign(taken(api).properties.tags, { maxItems: 3 }),
      `${BODY}.tags: maxItems unset became 3`,
    ],
    [
      'a new pattern',
      (api) => Object.assign(taken(api).properties.name, { pattern: '^x' }),
      `${BODY}.name: pattern unset became ^x`,
    ],
    ['a removed field of a request', (api) => delete taken(api).properties.kind, `${BODY}.kind: removed`],
    [
      'an input that became required',
      (api) => taken(api).required.push('kind'),
      `${BODY}.kind: became required`,
    ],
    [
      'a new required input',
      (api) => {
        taken(api).properties.user = { type: 'string' };
        taken(api).required.push('user');
      },
      `${BODY}.user: became required`,
    ],
    [
      'a value that is refused',
      (api) => taken(api).properties.kind.enum.pop(),
      `${BODY}.kind: the value "b" is no longer accepted`,
    ],
    [
      'a text that became an enumeration',
      (api) => Object.assign(taken(api).properties.tags.items, { enum: ['x'] }),
      `${BODY}.tags[]: only ["x"] are accepted any more`,
    ],
    [
      'a type that is refused',
      (api) => Object.assign(taken(api).properties.at, { type: ['string', 'null'] }),
      `${BODY}.at: number is no longer accepted`,
    ],
    [
      'null that is refused',
      (api) => taken(api).properties.size.anyOf.pop(),
      `${BODY}.size: null is no longer accepted`,
    ],
    [
      'names that are refused',
      (api) => Object.assign(taken(api).properties.labels, { additionalProperties: false }),
      `${BODY}.labels: fields of any name are no longer accepted`,
    ],
    [
      'a removed answer',
      (api) => delete jobs(api).post.responses[201],
      'POST /api/jobs, answer 201: removed',
    ],
    [
      'a removed content type',
      (api) => delete jobs(api).get.responses[200].content['application/json'],
      `${ANSWER}: content type application/json was removed`,
    ],
    ['a removed field of an answer', (api) => delete told(api).properties.runs, `${ANSWER}.runs: removed`],
    [
      'a removed field deep in an answer',
      (api) => delete told(api).properties.runs.items.properties.at,
      `${ANSWER}.runs[].at: removed`,
    ],
    [
      'a field of an answer that may be missing',
      (api) => told(api).required.pop(),
      `${ANSWER}.size: is no longer always there`,
    ],
    [
      'a field of an answer that may be null',
      (api) => Object.assign(told(api).properties.size, { type: ['integer', 'null'] }),
      `${ANSWER}.size: may now be null`,
    ],
    [
      'a field of an answer of another type',
      (api) => Object.assign(told(api).properties.size, { type: 'string' }),
      `${ANSWER}.size: may now be string`,
    ],
    [
      'a removed field of a shared answer',
      (api) => delete api.components.schemas.Problem.properties.code,
      'POST /api/jobs, answer default.code: removed',
    ],
  ])('finds %s', (_, change, message) => {
    expect(breaksOf(change).join('\n')).toBe(message);
  });

  test.each<[string, (api: Loose) => void]>([
    ['nothing', () => undefined],
    ['a new operation', (api) => Object.assign(jobs(api), { put: { responses: {} } })],
    [
      'a new optional parameter',
      (api) => jobs(api).get.parameters.push({ name: 'after', in: 'query', schema: { type: 'string' } }),
    ],
    ['a new optional field of a request', (api) => Object.assign(taken(api).properties, { note: {} })],
    ['a wider bound', (api) => Object.assign(taken(api).properties.name, { maxLength: 500 })],
    ['a further value in a request', (api) => taken(api).properties.kind.enum.push('c')],
    [
      'a further type in a request',
      (api) => Object.assign(taken(api).properties.tags, { type: ['array', 'string'] }),
    ],
    ['an input that is no longer required', (api) => taken(api).required.pop()],
    ['a new field of an answer', (api) => Object.assign(told(api).properties, { note: { type: 'string' } })],
    ['a further value in an answer', (api) => told(api).properties.kind.enum.push('c')],
    ['a field of an answer that is always there', (api) => told(api).required.push('parent')],
    ['a further answer', (api) => Object.assign(jobs(api).get.responses, { 304: {} })],
    [
      'a schema under another name',
      (api) => {
        api.components.schemas.JobAnswer = told(api);
        jobs(api).get.responses[200].content['application/json'].schema.$ref =
          '#/components/schemas/JobAnswer';
      },
    ],
  ])('accepts %s', (_, change) => {
    expect(breaksOf(change)).toEqual([]);
  });
});
