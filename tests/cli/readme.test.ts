/**
 * What people paste: the shell blocks of README.md and docs/security.md, run as they stand against a real server. Only the
 * address, the id a reader fills in, and the end of what would go on for ever are put in by the test.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { type OneServer, startOneServer } from './one-server.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTED_ADDRESS = 'http://127.0.0.1:7420';
/** What a person would type when asked: the password, and the one to change it to. */
const TYPED = 'a long phrase of her own\na longer phrase of her own\n';
/** Programs of their own that start servers and run tests; others test these. */
const OTHERWISE_TESTED = /^(npm|node) /m;
/**
 * Once per page npx itself finds the command; what it found is then started without it, for npx takes several times as long as the command.
 */
const PRELUDE = `set -ex
npx() {
  if [ -e "$HOME/npx-has-found-it" ]; then "$HOME/node_modules/.bin/$@"
  else : > "$HOME/npx-has-found-it" && command npx "$@"
  fi < "$HOME/typed"
}
`;
/** Each command is a process that starts, and there are many. */
const PASTE = { timeout: 600_000 };

let one: OneServer | undefined;

afterEach(async () => {
  await one?.stop();
  one = undefined;
});

/** The shell blocks of a page, one after the other, as one script. */
async function scriptOf(page: string, { address, jobId }: { address: string; jobId: string }) {
  const text = await readFile(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks
    .filter((block) => !OTHERWISE_TESTED.test(block))
    .join('\n')
    .replaceAll(DOCUMENTED_ADDRESS, address)
    .replaceAll('<job_id>', jobId)
    .replaceAll(/(carillon events) -f/g, '$1');
}

/** Blocks of YAML that begin with the name of a file. */
async function writeFiles(page: string, { folder, address }: { folder: string; address: string }) {
  const text = await readFile(join(ROOT, page), 'utf8');
  for (const [, block = '', name = ''] of text.matchAll(/^```yaml\n(# (\w+\.yaml)\n[\s\S]*?)^```$/gm))
    await writeFile(join(folder, name), block.replaceAll(DOCUMENTED_ADDRESS, address));
}

/** Runs in the folder of a server that was just started; stops at the first command that fails. */
async function paste(page: string): Promise<{ script: string; stdout: string }> {
  one = await startOneServer();
  const { folder, server } = one;
  const { address } = server;
  const carillon = new Carillon({ url: address, key: await server.adminKey() });
  const payload = { url: `${address}/health/live` };
  const { job_id: jobId } = await carillon.jobs.create({ name: 'of the reader', interval: '1d', payload });

  // As npm links it in a clone.
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  await symlink(join(ROOT, 'packages/cli/bin/carillon.mjs'), join(folder, 'node_modules/.bin/carillon'));
  // By itself curl calls every answer a success.
  await writeFile(join(folder, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
  await writeFile(join(folder, 'typed'), TYPED);

  await writeFiles(page, { folder, address });
  const script = await scriptOf(page, { address, jobId });
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, TZ: 'UTC', npm_config_offline: 'true', ...COMPILE_CACHE },
  };
  const ended = await promisify(execFile)('sh', ['-c', `${PRELUDE}${script}`], { cwd: folder, env }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => expect.fail(`${page}\n${stdout}\n${stderr}`),
  );
  return { script, stdout: ended.stdout };
}

test('every command of README.md works as it stands', PASTE, async () => {
  const { script, stdout } = await paste('README.md');
  expect(script.match(/^curl /gm)?.length).toBeGreaterThanOrEqual(3);
  expect(script.match(/^npx carillon /gm)?.length).toBeGreaterThanOrEqual(12);
  expect(stdout).toMatch(/completed .* SUCCESS/);
  expect(stdout).toMatch(/ck2_\w+/);
  expect(stdout).toMatch(/signed in as\s+ada/);
  expect(stdout).toContain('editor@billing');
  expect(stdout).toContain('Changed the password of ada');
  expect(stdout).toContain('Signed out');
});

test('every command of docs/security.md works as it stands', PASTE, async () => {
  const { script, stdout } = await paste('docs/security.md');
  expect(script.match(/^curl /gm)?.length).toBeGreaterThanOrEqual(7);
  expect(stdout).toContain('"csrf_token"');
  expect(stdout).toContain('"keys.create"');
});

test('every command of docs/key-rotation.md works as it stands', PASTE, async () => {
  const { stdout } = await paste('docs/key-rotation.md');
  expect(stdout.match(/ck2_[\w-]{20,}/g) ?? []).toHaveLength(4);
  expect(stdout).toContain('"previous_prefix"');
});

test('every command of docs/schedules-in-git.md works as it stands', PASTE, async () => {
  const { script, stdout } = await paste('docs/schedules-in-git.md');
  expect(script.match(/^npx carillon /gm)?.length).toBeGreaterThanOrEqual(10);
  expect(stdout).toMatch(/created +poll-orders/);
  expect(stdout).toContain('key: poll-orders');
  expect(stdout).not.toMatch(/^(updated|removed) +[\w-]+ +default/m);
});

test('every command of docs/replace-crontab.md works as it stands', PASTE, async () => {
  const { stdout } = await paste('docs/replace-crontab.md');
  const carillon = new Carillon({ url: one!.server.address, key: await one!.server.adminKey() });
  const jobs = await carillon.jobs.list({ type: 'recurring' }).toArray();
  expect(jobs.map(({ handler, key, version }) => [handler, key === null, version])).toEqual(
    // One is that of the reader; all were given a key, and the apply that followed changed none of them.
    Array.from({ length: 3 }, () => ['http', false, 2]),
  );
  expect(stdout).not.toMatch(/^(created|updated) +[\w-]+ +default/m);
});
