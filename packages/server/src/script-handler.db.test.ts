/** What a script finds out about the server that runs it, through a whole server. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@carillon/foundation';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Carillon } from '../../../packages/client/src/index.ts';
import { probeContainment } from '../../../packages/worker/src/handlers/script/containment.ts';
import { eventually } from '../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../tests/support/postgres.ts';
import { configSchema } from './config/config-schema.ts';
import { type StartedServer, startServer } from './start-server.ts';

const isContained = (await probeContainment(undefined, [])).kind === 'namespace';

describeOldestPostgres('scripts', (postgres) => {
  let database: TestDatabase;
  let folder: string;
  let server: StartedServer;
  let client: Carillon;

  beforeAll(async () => {
    database = await createTestDatabase(postgres.url);
    folder = await mkdtemp(join(tmpdir(), 'carillon-scripts-'));
    // Anybody may read them: only hiding keeps them from a script, whichever user it runs as.
    await chmod(folder, 0o755);
    for (const name of ['config', 'oidc', 'open']) await writeFile(join(folder, name), `of ${name}`);
    server = await startServer({
      config: configSchema.parse({
        ...{ port: 0, data: join(folder, 'data'), database_url: database.url },
        logs: { folder: join(folder, 'logs') },
        oidc: { client_secret_file: join(folder, 'oidc') },
      }),
      configFile: join(folder, 'config'),
      log: silentLog,
      onReplaced: () => expect.fail('another process has the identity of this server'),
    });
    const key = (await readFile(server.adminKeyFile, 'utf8')).trim();
    client = new Carillon({ url: server.address, key });
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it.runIf(isContained)('see neither its settings, nor its secrets, nor the logs of other runs', async () => {
    const source =
      'for f in config oidc open; do echo "$f: $(cat "$1/$f")"; done; ls -A "$1/logs" "$1/data" 2>&1 | wc -l';
    const payload = { interpreter: 'bash', script: source, args: [folder] };
    const { job_id: jobId } = await client.jobs.create({ name: 'curious', handler: 'script', payload });
    await eventually(async () => expect((await client.runs.get(jobId)).status).toMatch(/SUCCESS|FAILED/), {
      withinMs: 60_000,
    });
    const lines = (await client.runs.logText(jobId))
      .split('\n')
      .map((line) => line.replace(/^\d+ [oe] /, ''));
    expect(lines).toEqual(expect.arrayContaining(['config: ', 'oidc: ', 'open: of open']));
    expect(lines).not.toContain('config: of config');
  });
});
