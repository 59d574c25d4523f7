import { problemAnswer, readShape } from '@carillon/contract';
import type { FastifyInstance } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { allOperations } from '../api/all-operations.ts';
import type { ApiContext, Operation } from '../api/operation.ts';
import { GatewayFixture, KEY } from '../gateway.fixture.ts';
import type { OpenApiDocument } from './build-openapi.ts';

const endpoints = allOperations({ operations: {}, address: '' } as ApiContext);
const named = endpoints.map(
  (endpoint) => [`${[endpoint.method].flat()[0]} ${endpoint.path}`, endpoint] as const,
);

let app: FastifyInstance;
let api: OpenApiDocument;
const mounted: string[] = [];
const described: string[] = [];

beforeAll(async () => {
  const gateway = new GatewayFixture();
  app = gateway.app;
  app.addHook('onRoute', ({ method, url, config }) => {
    const { servesOthers = false } = (config ?? {}) as { servesOthers?: boolean };
    if (!url.startsWith('/api') || servesOthers) return;
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    for (const one of [method].flat()) if (one !== 'HEAD') mounted.push(`${one} ${path}`);
  });
  api = (await app.inject('/api/openapi.json')).json();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of Object.keys(methods)) described.push(`${method.toUpperCase()} ${path}`);
  }
});

describe('the OpenAPI document', () => {
  test('describes every mounted route, and nothing that is not mounted', () => {
    expect(mounted.length).toBeGreaterThan(20);
    expect(described.toSorted()).toEqual(mounted.toSorted());
  });

  test('is well-formed: ids are unique, references resolve, parameters of the path are declared', () => {
    const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => ({ path, ...operation })),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const references = [...JSON.stringify(api).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(50);
    for (const [, kind, name] of references) {
      expect(api.components[kind as 'schemas']).toHaveProperty(name!);
    }
    expect(JSON.stringify(api)).not.toContain('$defs');
    for (const { path, parameters } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(path.match(/\{\w+\}/g) ?? []).toEqual(inPath);
    }
  });

  test('shows enumerated words of bodies and queries', () => {
    const schema = JSON.stringify(api.paths['/api/jobs']!.post);
    expect(schema).toContain('"low","medium","high"');
    const status = api.paths['/api/jobs']!.get!.parameters.find(({ name }) => name === 'status');
    expect(status?.schema).toMatchObject({
      type: 'array',
      items: { enum: expect.arrayContaining(['paused']) },
    });
    const limit = api.paths['/api/jobs']!.get!.parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 1_000 });
    expect(limit?.required).toBe(false);
  });

  test('tells every type that an answer comes in, and every permission that may be needed', () => {
    const events = api.paths['/api/events']!.get!.responses['200'] as { content: Record<string, object> };
    expect(Object.keys(events.content)).toEqual(['application/json', 'text/event-stream']);
    expect(api.paths['/api/jobs/bulk']!.post!.description).toContain('jobs.pause, jobs.cancel');
    expect(api.paths['/api/jobs/{id}']!.delete!.description).toContain('jobs.cancel, jobs.delete');
  });

  test('tells how to be let in, and which answers are problems', () => {
    expect(Object.keys(api.components.securitySchemes)).toEqual(['key', 'session']);
    expect(api.paths['/api/jobs']!.post!.security).toEqual([{ key: [] }, { session: [] }]);
    expect(api.paths['/api/openapi.json']!.get!.security).toEqual([]);
    expect(api.paths['/api/jobs']!.post!.responses.default).toEqual({
      $ref: '#/components/responses/Problem',
    });
  });
});

describe.each(named)('%s', (_name, endpoint: Operation) => {
  test('has examples that are valid by its own schemas', () => {
    for (const example of Object.values(endpoint.bodyExamples ?? {})) {
      expect(() => readShape(endpoint.body!, example)).not.toThrow();
    }
    for (const [status, answer] of Object.entries(endpoint.answers)) {
      for (const { schema, example } of [answer, ...Object.values(answer.otherTypes ?? {})]) {
        if (!schema) continue;
        expect(example, `an example of ${status}`).toBeDefined();
        expect(schema.safeParse(example).error, `the example of ${status}`).toBeUndefined();
      }
    }
    if (endpoint.body) expect(Object.keys(endpoint.bodyExamples ?? {})).not.toEqual([]);
  });
});

describe('the page', () => {
  test('the address that the server prints leads to the page', async () => {
    const answer = await app.inject('/');
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/api/docs']);
  });

  test('is one document that may load nothing from elsewhere and run no other script', async () => {
    const page = await app.inject('/api/docs');
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.body).not.toMatch(/(src|href)="https?:/);
    const script = /<script>([\s\S]*)<\/script>/.exec(page.body)![1]!;
    expect(() => new Function(script)).not.toThrow();
  });
});

describe('other methods of a path that exists', () => {
  test.each([
    ['PATCH', '/api/jobs', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/api/workers', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/jobs/x/pause', 'POST, OPTIONS'],
    ['HEAD', '/api/jobs/x/pause', 'POST, OPTIONS'],
    ['POST', '/api/jobs/x', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['PUT', '/api/jobs/upcoming', 'GET, HEAD, OPTIONS'],
  ] as const)('%s %s is answered 405 with Allow', async (method, url, allow) => {
    const gateway = new GatewayFixture();
    const stranger = await gateway.app.inject({ method, url });
    expect(stranger.statusCode).toBe(401);
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await gateway.app.inject({ method, url, headers });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, allow]);
    if (method !== 'HEAD') expect(problemAnswer.parse(answer.json()).code).toBe('method_not_allowed');
  });

  test('OPTIONS answers what is served, HEAD what GET would', async () => {
    const gateway = new GatewayFixture();
    const headers = { authorization: `Bearer ${KEY}` };
    const options = await gateway.app.inject({ method: 'OPTIONS', url: '/api/jobs', headers });
    expect([options.statusCode, options.headers.allow, options.body]).toEqual([
      204,
      'GET, HEAD, POST, OPTIONS',
      '',
    ]);
    const head = await gateway.app.inject({ method: 'HEAD', url: '/api/jobs', headers });
    expect([head.statusCode, head.body, head.headers['x-total-count']]).toEqual([200, '', '0']);
  });
});
