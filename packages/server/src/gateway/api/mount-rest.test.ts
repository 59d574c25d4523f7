import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { buildOpenApi } from '../openapi/build-openapi.ts';
import { mountRest } from './mount-rest.ts';
import { restOperation } from './operation.ts';

test('a deprecated operation says since when, and from when it may be gone; others say nothing', async () => {
  const common = { method: 'GET', access: 'open', tag: 'x', summary: 'X', answers: {} } as const;
  const handle = async () => ({ body: 'fine' });
  const table = [
    restOperation({
      ...common,
      path: '/old',
      deprecated: { since: '2027-01-01', sunset: '2027-07-01' },
      handle,
    }),
    restOperation({ ...common, path: '/new', handle }),
  ];
  const app = fastify();
  onTestFinished(() => app.close());
  mountRest(app, table, { authenticate: () => expect.fail('it is open'), address: '' });
  const { headers } = await app.inject('/old');
  expect(headers).toMatchObject({
    deprecation: '@1798761600',
    sunset: 'Thu, 01 Jul 2027 00:00:00 GMT',
  });
  expect((await app.inject('/new')).headers).not.toHaveProperty('deprecation');
  const { paths } = buildOpenApi(table, '1.0');
  expect(paths['/api/old']?.get).toHaveProperty('deprecated', true);
  expect(paths['/api/new']?.get).not.toHaveProperty('deprecated');
});
