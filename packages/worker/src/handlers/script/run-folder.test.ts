/** The folder of a run between a worker that is root and scripts that share a user: none finds another's, none leads the worker astray. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Containment, probeContainment } from './containment.ts';
import { PipeStock } from './named-pipes.ts';
import { RunFolder, removeLeftFolders } from './run-folder.ts';
import { bash, eventually, runScript, startScript } from './script.fixture.ts';
import { scriptLauncher } from './script-launcher.ts';

const user = { uid: 65_534, gid: 65_534 };
const isRoot = process.geteuid?.() === 0;
const GROUP: Containment = { kind: 'group', canHide: false, hasLimits: true, hasSetpriv: true };
const found = await probeContainment(isRoot ? user : undefined, []);

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'carillon-folder-test-'));
  chmodSync(base, 0o711);
});
afterAll(() => rmSync(base, { recursive: true }));

/** As the folder of the system for temporary files. */
function sharedFolder(): string {
  const path = mkdtempSync(join(base, 'shared-'));
  chmodSync(path, 0o1777);
  return path;
}

/** Of root, with a file that must stay as it is. */
function precious(): { path: string; file: string; isUntouched: () => boolean } {
  const path = mkdtempSync(join(base, 'precious-'));
  const file = join(path, 'file');
  writeFileSync(file, 'precious', { mode: 0o600 });
  const before = [path, file].map((each) => JSON.stringify(metaOf(each)));
  const isUntouched = () =>
    readFileSync(file, 'utf8') === 'precious' &&
    [path, file].every((each, i) => JSON.stringify(metaOf(each)) === before[i]);
  return { path, file, isUntouched };
}
const metaOf = (path: string) => {
  const { uid, gid, mode } = statSync(path);
  return { uid, gid, mode };
};

describe.runIf(isRoot)('two scripts of one user at the same time', () => {
  test.each([found, GROUP].map((containment) => [containment.kind, containment] as const))(
    'in a %s: neither lists the folder around the other’s, nor finds it or its payload',
    async (_, containment) => {
      const workFolder = sharedFolder();
      const options = { user, workFolder, containment };
      const victim = startScript({ ...bash('pwd; sleep 600', { word: 'a secret word' }), options });
      await eventually(() => victim.channel.text().endsWith('\n'));
      const attack = `cd "$1"; for d in carillon-run-*; do ls "$d" >/dev/null 2>&1 && echo listed $d; done
      find "$1" -name payload.json -not -path "$HOME/*" 2>/dev/null
      cat "$1"/*/payload.json "$1"/*/*/payload.json 2>/dev/null
      ls -d "$HOME"; ls -d "$1"/* | wc -l`;
      const attacker = await runScript({ ...bash(attack, { args: [workFolder] }), options });
      const [own, count, ...rest] = attacker.channel.text().trim().split('\n');
      expect(attacker.outcome.kind).toBe('SUCCESS');
      expect(dirname(dirname(own!))).toBe(workFolder);
      expect([count, rest]).toEqual(['2', []]);
      const theirs = victim.channel.text().trim();
      expect(basename(theirs)).toMatch(/^[\w-]{16}$/);
      expect(metaOf(dirname(theirs))).toMatchObject({ uid: 0, mode: 0o40711 });
      victim.run.requestStop('cancelled', 'stop', 0);
      await victim.ended;
      expect(readdirSync(workFolder)).toEqual([]);
    },
  );
});

describe.runIf(isRoot)('the folder of a run', () => {
  test('is the worker’s own while all is made in it, and the script’s afterwards', async () => {
    const folder = await RunFolder.make(sharedFolder(), user);
    const payload = await folder.write('payload.json', '{}');
    const pipes = await new PipeStock(scriptLauncher).take(folder.path, { owner: user, count: 3 });
    expect(metaOf(folder.path)).toEqual({ uid: 0, gid: 0, mode: 0o40700 });
    expect(metaOf(payload)).toEqual({ ...user, mode: 0o100600 });
    expect(readdirSync(folder.path)).toEqual(['payload.json']);
    folder.giveAway();
    expect(metaOf(folder.path)).toEqual({ ...user, mode: 0o40700 });
    for (const { reader } of pipes) reader.destroy();
    await folder.remove();
    expect(existsSync(dirname(folder.path))).toBe(false);
  });

  test('nothing is written through a link', async () => {
    const folder = await RunFolder.make(sharedFolder(), user);
    const { file, isUntouched } = precious();
    symlinkSync(file, join(folder.path, 'payload.json'));
    await expect(folder.write('payload.json', 'x')).rejects.toThrow('EEXIST');
    symlinkSync(file, join(folder.path, '.pipe-0'));
    const pipes = new PipeStock(scriptLauncher);
    await expect(pipes.take(folder.path, { owner: user, count: 1 })).rejects.toThrow('mkfifo');
    await folder.remove();
    expect(isUntouched()).toBe(true);
  });

  test('is removed without following links, by a user who cannot remove what they lead to', async () => {
    const workFolder = sharedFolder();
    const { path, file, isUntouched } = precious();
    const script = `ln -s ${path} a; ln -s ${file} b; mkdir -p c/d; ln -s ${path} c/d/e; chmod 000 c/d c; rm -rf payload.json; ln -s ${file} payload.json; chmod 000 .`;
    const { outcome } = await runScript({ ...bash(script), options: { user, workFolder } });
    expect(outcome.kind).toBe('SUCCESS');
    expect(readdirSync(workFolder)).toEqual([]);
    expect(isUntouched()).toBe(true);
  });

  test('is removed with folders that cannot be read and paths longer than the system takes', async () => {
    const workFolder = sharedFolder();
    const script = `import os
for i in range(50):
  os.makedirs(str(i) + '/a')
  os.chmod(str(i), 0)
for i in range(60):
  os.mkdir('d' * 100); os.chdir('d' * 100)`;
    const payload = { interpreter: 'python3', script };
    const { outcome } = await runScript({ payload, options: { user, workFolder } });
    expect(outcome.kind).toBe('SUCCESS');
    expect(readdirSync(workFolder)).toEqual([]);
  });

  test('what only root could remove in it stays: it is removed as the script’s user', async () => {
    const folder = await RunFolder.make(sharedFolder(), user);
    folder.giveAway();
    const kept = join(folder.path, 'of-root');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), 'precious');
    await expect(folder.remove()).rejects.toThrow('something is left');
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('precious');
  });

  test('a script that swaps names for links while others start and end changes nothing of root’s', async () => {
    const workFolder = sharedFolder();
    const { path, file, isUntouched } = precious();
    const options = { user, workFolder };
    const swapper = `import os, glob, sys
print('up', flush=True)
while True:
  for inner in glob.glob(sys.argv[1] + '/*') + glob.glob(sys.argv[1] + '/*/*'):
    for name in ['.pipe-0', '.pipe-1', 'payload.json', 'script', 'd', '']:
      at = os.path.join(inner, name).rstrip('/')
      try:
        os.rename(at, at + '.old'); os.symlink(sys.argv[2] if name in ('d', '') else sys.argv[3], at)
      except OSError: pass`;
    const payload = { interpreter: 'python3', script: swapper, args: [workFolder, path, file] };
    const attacker = startScript({ payload, options });
    await eventually(() => attacker.channel.text() === 'up\n');
    for (let i = 0; i < 5; i += 1) {
      const { outcome } = await runScript({ ...bash('mkdir d; echo > d/file'), options });
      expect(outcome.kind).toBe('SUCCESS');
    }
    attacker.run.requestStop('cancelled', 'stop', 0);
    await attacker.ended;
    expect(isUntouched()).toBe(true);
  });

  test.each([
    ['is open to all without the sticky bit', (path: string) => chmodSync(path, 0o777)],
    ['belongs to the user of scripts', (path: string) => chownSync(path, user.uid, 0)],
    [
      'is open to the group of scripts',
      (path: string) => {
        chownSync(path, 0, user.gid);
        chmodSync(path, 0o775);
      },
    ],
  ])('is not made where its place %s', async (_, open) => {
    const around = mkdtempSync(join(base, 'open-'));
    open(around);
    const workFolder = mkdtempSync(join(around, 'work-'));
    const { outcome } = await runScript({ ...bash('echo hi'), options: { user, workFolder } });
    expect(outcome).toMatchObject({
      kind: 'FAILED',
      retryable: false,
      error: expect.stringContaining('script.work_folder'),
    });
  });
});

describe.runIf(isRoot)('folders that killed workers left', () => {
  /** One whose process has ended. */
  async function leftIn(workFolder: string): Promise<{ outer: string; inner: string }> {
    const folder = await RunFolder.make(workFolder, user);
    folder.giveAway();
    const living = dirname(folder.path);
    const outer = living.replace(/-(\d+)-(\d+)-(\d+)-/, '-$1-999999999-$3-');
    renameSync(living, outer);
    return { outer, inner: join(outer, basename(folder.path)) };
  }

  test('are removed as the user of the script, who may have planted links', async () => {
    const workFolder = sharedFolder();
    const { inner } = await leftIn(workFolder);
    const { path, isUntouched } = precious();
    symlinkSync(path, join(inner, 'a'));
    mkdirSync(join(inner, 'b'), { mode: 0o700 });
    chownSync(join(inner, 'b'), user.uid, user.gid);
    expect(await removeLeftFolders(workFolder)).toBe(1);
    expect(readdirSync(workFolder)).toEqual([]);
    expect(isUntouched()).toBe(true);
  });

  test('stay when another user made them, when they are links, or when names there can be changed', async () => {
    const workFolder = sharedFolder();
    const { outer } = await leftIn(workFolder);
    const { path, isUntouched } = precious();
    const planted = `${outer}-planted`;
    mkdirSync(planted);
    chownSync(planted, user.uid, user.gid);
    symlinkSync(path, `${outer}-link`);
    chmodSync(workFolder, 0o777);
    expect(await removeLeftFolders(workFolder)).toBe(0);
    chmodSync(workFolder, 0o1777);
    expect(await removeLeftFolders(workFolder)).toBe(1);
    expect(readdirSync(workFolder).toSorted()).toEqual([`${outer}-link`, planted].map((at) => basename(at)));
    expect(lstatSync(`${outer}-link`).isSymbolicLink()).toBe(true);
    expect(isUntouched()).toBe(true);
  });
});

describe.runIf(found.canHide)('shared memory', () => {
  test('is the script’s own, limited, and gone after it', async () => {
    const name = `carillon-test-${process.pid}`;
    const script = `echo x > /dev/shm/${name} && cat /dev/shm/${name}; head -c 100000000 /dev/zero > /dev/shm/big 2>/dev/null || echo full; readlink /proc/self/ns/ipc`;
    const options = isRoot ? { user } : {};
    const { channel } = await runScript({ ...bash(script), options });
    const [word, full, space] = channel.text().trim().split('\n');
    expect([word, full]).toEqual(['x', 'full']);
    expect(existsSync(`/dev/shm/${name}`)).toBe(false);
    expect(space).not.toBe(readlinkSync('/proc/self/ns/ipc'));
  });
});
