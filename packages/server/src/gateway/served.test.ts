import { expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const PREVIEW = { cron_expression: '0 9 * * *' };

async function statuses(gateway: GatewayFixture) {
  const submit = { method: 'POST', url: '/carillon.v1.JobService/SubmitJob' } as const;
  const history = { method: 'POST', url: '/carillon.v1.JobService/ListWorkers' } as const;
  const rpc = async ({ method, url }: typeof submit | typeof history) =>
    (await gateway.ask(method, url, { payload: {} })).status;
  return {
    create: (await gateway.post('/api/jobs', { name: 'a', handler: 'default' })).status,
    list: (await gateway.ask('GET', '/api/jobs')).status,
    preview: (await gateway.post('/api/schedules/preview', PREVIEW)).status,
    whoAmI: (await gateway.ask('GET', '/api/session')).status,
    submit: await rpc(submit),
    workers: await rpc(history),
  };
}

test('a gateway of reads shows and previews, and changes nothing', async () => {
  const found = await statuses(new GatewayFixture({ served: 'reads' }));
  expect(found).toEqual({ create: 405, list: 200, preview: 200, whoAmI: 200, submit: 404, workers: 200 });
});

test('a gateway of writes changes, and shows nothing', async () => {
  const found = await statuses(new GatewayFixture({ served: 'writes' }));
  expect(found).toEqual({ create: 201, list: 405, preview: 404, whoAmI: 200, submit: 400, workers: 404 });
});
