import { createServer, request, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer } from '../../packages/server/src/testing/index.ts';
import { fixedPort } from '../support/processes.ts';
import { hasBrowser, PageStage, pathOf, signIn } from './stage.ts';

const PREFIX = '/carillon';

describe.skipIf(!hasBrowser())('behind a proxy that serves it below a path', () => {
  let stage: PageStage;
  let proxy: Server;
  beforeAll(async () => {
    const port = await fixedPort();
    const url = `http://127.0.0.1:${port}${PREFIX}`;
    stage = await PageStage.open({
      start: async (databaseUrl) => {
        const server = await startTestServer({
          ...{ databaseUrl, settings: { public_url: url }, handlers: { ok: () => 'done' } },
        });
        proxy = await openProxy(port, new URL(server.url).port);
        return {
          url,
          key: server.key,
          stop: async () => {
            proxy.closeAllConnections();
            proxy.close();
            await server.stop();
          },
        };
      },
    });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  test('it loads, signs in, opens a deep link, stays live and comes back after a session has ended', async () => {
    const page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/runs?status=SUCCESS');
    expect(pathOf(page)).toBe(`${PREFIX}/runs?status=SUCCESS`);
    await page.getByRole('button', { name: 'live', exact: true }).waitFor();
    await stage.admin.jobs.create({ name: 'behind', handler: 'ok' });
    await page.getByRole('link', { name: 'behind' }).waitFor();
    await page.getByRole('link', { name: /^succeeded/ }).click();
    await page.getByRole('heading', { name: 'behind' }).waitFor();
    const deep = pathOf(page);
    expect(deep.startsWith(`${PREFIX}/runs/`)).toBe(true);
    await page.reload();
    await page.getByRole('heading', { name: 'behind' }).waitFor();

    const current = page.getByRole('navigation').locator('a[data-active]');
    expect(await current.allTextContents()).toEqual(['Runs']);

    await page.context().clearCookies();
    await page.goto(`${stage.url}/workers?label=a:b`);
    await page.waitForURL(/\/login\?next=/);
    await signIn(page, 'ada');
    expect(pathOf(page)).toBe(`${PREFIX}/workers?label=a%3Ab`);
    await page.context().clearCookies();
    await page.waitForURL(/\/login\?next=/);
    await signIn(page, 'ada');
    expect(pathOf(page)).toBe(`${PREFIX}/workers?label=a%3Ab`);
  });
});

/** Takes the prefix away, as most proxies are told to, and hands on everything else as it is. */
async function openProxy(port: number, to: string): Promise<Server> {
  const server = createServer((asked, answer) => {
    if (!asked.url!.startsWith(`${PREFIX}/`)) {
      answer.writeHead(404).end();
      return;
    }
    const path = asked.url!.slice(PREFIX.length);
    const onward = request(
      { host: '127.0.0.1', port: to, path, method: asked.method, headers: asked.headers },
      (answered) => {
        answer.writeHead(answered.statusCode!, answered.headers);
        answered.pipe(answer);
      },
    );
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}
