/** Files that scripts leave, as whoever keeps them gets them: real scripts, a channel that remembers. */
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ARTIFACT_END_BYTES, readArtifactEnd, readArtifactIndex } from '@carillon/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunArtifacts } from '../../run-channel.ts';
import { PackedArtifacts } from './pack-artifacts.ts';
import { bash, eventually, RecordingChannel, runScript, startScript } from './script.fixture.ts';

let workFolder: string;
beforeAll(() => {
  workFolder = mkdtempSync(join(tmpdir(), 'carillon-artifacts-test-'));
});
afterAll(() => rmSync(workFolder, { recursive: true }));

const PART_BYTES = 256 * 1_024;

/** Keeps what it gets in memory, and reads it as a server does. */
class KeepingChannel extends RecordingChannel {
  readonly parts: Uint8Array[] = [];
  fault: Error | undefined;
  artifacts: RunArtifacts;

  constructor(bytesMax = 1_000_000) {
    super();
    this.artifacts = {
      bytesMax,
      save: async (_, parts) => {
        if (this.fault) throw this.fault;
        for await (const part of parts()) this.parts.push(part);
      },
    };
  }

  files(): Record<string, string> {
    const all = Buffer.concat(this.parts);
    const endAt = all.length - ARTIFACT_END_BYTES;
    const indexAt = endAt - readArtifactEnd(all.subarray(endAt))!;
    const index = readArtifactIndex(all.subarray(indexAt, endAt).toString(), { bytes: indexAt });
    return Object.fromEntries(
      index!.files.map(({ name, offset, bytes }) => [
        name,
        all.subarray(offset, offset + bytes).toString('latin1'),
      ]),
    );
  }
}

async function left(script: string, channel = new KeepingChannel()) {
  const { outcome } = await runScript({ ...bash(`cd "$CARILLON_ARTIFACTS"\n${script}`), channel });
  return { outcome, channel };
}

describe('files of a script', () => {
  test('are read from its folder when it has ended, however large and in whatever bytes', async () => {
    const large = PART_BYTES + 10;
    const { outcome, channel } = await left(
      `ls -A; printf 'a\\0\\xff' > b.bin; head -c ${large} /dev/zero > a.txt; : > empty; printf x > "Ü ber"`,
    );
    expect(outcome).toEqual({ kind: 'SUCCESS', result: '{"exit_code":0}' });
    expect(channel.text()).toBe('');
    const files = channel.files();
    expect(Object.keys(files)).toEqual(['a.txt', 'b.bin', 'empty', 'Ü ber']);
    expect(files['a.txt'] === '\0'.repeat(large)).toBe(true);
    expect(files).toMatchObject({ 'b.bin': 'a\0\xff', empty: '', 'Ü ber': 'x' });
    expect(channel.parts.map(({ length }) => length).slice(0, -1)).toEqual([PART_BYTES]);
    expect(channel.text('system')).toMatch(/^exit code 0 [^\n]*\n$/);
  });

  test('are kept when it fails', async () => {
    const { outcome, channel } = await left('echo why > report.txt; exit 3');
    expect(outcome).toMatchObject({ kind: 'FAILED' });
    expect(channel.files()).toEqual({ 'report.txt': 'why\n' });
  });

  test('are kept when it is cancelled', async () => {
    const channel = new KeepingChannel();
    const { run, ended } = startScript({
      ...bash('echo half > "$CARILLON_ARTIFACTS/half.txt"; echo ready; sleep 600'),
      channel,
    });
    await eventually(() => channel.text() === 'ready\n');
    run.requestStop('cancelled', 'cancelled by a person', 0);
    expect(await ended).toMatchObject({ kind: 'CANCELLED' });
    expect(channel.files()).toEqual({ 'half.txt': 'half\n' });
  });

  test('that are none leave nothing, also where their folder is gone', async () => {
    for (const script of [':', 'cd /; rmdir "$CARILLON_ARTIFACTS"']) {
      const { channel } = await left(script);
      expect(channel.parts).toEqual([]);
      expect(channel.text('system')).toMatch(/^exit code 0 [^\n]*\n$/);
    }
  });

  test('are regular files: no link is followed, a pipe does not block, folders are left out', async () => {
    const { channel } = await left(
      'ln -s /etc/passwd link; mkfifo pipe; mkdir folder; echo in > folder/in; printf x > "a\nb"; echo ok > fine',
    );
    expect(channel.files()).toEqual({ fine: 'ok\n' });
    const said = channel.text('system');
    for (const name of ['link', 'pipe', 'folder'])
      expect(said).toContain(`the file "${name}" is not kept: it is not a regular file\n`);
    expect(said).toContain('the file "a\\nb" is not kept: its name has');
    expect(Buffer.concat(channel.parts).toString()).not.toContain('root:');
  });

  test('are not looked for where a link stands for their folder', async () => {
    const { channel } = await left('cd /; rmdir "$CARILLON_ARTIFACTS"; ln -s /etc "$CARILLON_ARTIFACTS"');
    expect(channel.parts).toEqual([]);
    expect(channel.text('system')).toContain('the files of the script could not be kept: ');
  });

  test('beyond the limits are left out and named', async () => {
    const { channel } = await left('for i in $(seq -w 1 130); do echo $i > f$i; done');
    expect(Object.keys(channel.files())).toHaveLength(100);
    expect(channel.text('system')).toContain('the file "f101" is not kept: an attempt may leave 100 files\n');
    expect(channel.text('system')).toContain('10 more files are not kept\n');
    const { channel: full } = await left(
      'head -c 700 /dev/zero > a; head -c 400 /dev/zero > b; head -c 300 /dev/zero > c',
      new KeepingChannel(1_000),
    );
    expect(Object.keys(full.files())).toEqual(['a', 'c']);
    expect(full.text('system')).toContain(
      'the file "b" is not kept: the files of an attempt may have 1000 bytes in all\n',
    );
  });

  test('are lost to a store that is away, and the run is not', async () => {
    const channel = new KeepingChannel();
    channel.fault = new Error('the disk is full');
    const { outcome } = await left('echo x > a', channel);
    expect(outcome).toMatchObject({ kind: 'SUCCESS' });
    expect(channel.text('system')).toContain('the files of the script could not be kept: the disk is full\n');
  });

  test('that a store does not take in time do not make a timeout of a script that had succeeded', async () => {
    const channel = new KeepingChannel();
    const saving = Promise.withResolvers<void>();
    channel.artifacts = {
      bytesMax: 1_000,
      save: () => {
        saving.resolve();
        return new Promise<never>(() => undefined);
      },
    };
    const { run, ended } = startScript({
      ...bash('echo x > "$CARILLON_ARTIFACTS/a"'),
      channel,
      options: { graceMs: 100 },
    });
    await saving.promise;
    run.requestStop('timed_out', 'it took too long', 0);
    expect(await ended).toMatchObject({ kind: 'SUCCESS' });
    expect(channel.text('system')).toContain(
      'the files of the script could not be kept: the run had to stop\n',
    );
  });

  test('are said to be lost where nobody keeps any', async () => {
    for (const channel of [new RecordingChannel(), new KeepingChannel(0)]) {
      await runScript({ ...bash('echo x > "$CARILLON_ARTIFACTS/a"'), channel });
      expect(channel.text('system')).toContain(
        'the files of the script could not be kept: nobody takes them\n',
      );
    }
  });

  test.runIf(process.geteuid?.() === 0)(
    'of another user are not read, as a hard link may name one',
    async () => {
      const owner = { uid: 65_534, gid: 65_534 };
      const path = mkdtempSync(join(tmpdir(), 'carillon-artifacts-test-'));
      for (const name of ['mine', 'theirs']) writeFileSync(join(path, name), name);
      chownSync(join(path, 'mine'), owner.uid, owner.gid);
      const packed = new PackedArtifacts({ path, owner, bytesMax: 1_000 });
      const parts: Uint8Array[] = [];
      for await (const part of packed.parts()) parts.push(part);
      rmSync(path, { recursive: true });
      expect(packed.files).toEqual([{ name: 'mine', offset: 0, bytes: 4 }]);
      expect([...packed.leftOut]).toEqual([['theirs', 'it is not a regular file of the user of scripts']]);
      expect(Buffer.concat(parts).toString()).not.toContain('theirs');
    },
  );

  test('are removed with the folder of the run', async () => {
    const options = { workFolder };
    await runScript({
      ...bash('echo x > "$CARILLON_ARTIFACTS/a"; chmod 0 "$CARILLON_ARTIFACTS"'),
      channel: new KeepingChannel(),
      options,
    });
    expect(readdirSync(workFolder)).toEqual([]);
  });
});

test('the files of a run are for its user alone', async () => {
  const { channel } = await runScript(bash('stat -c "%a %n" *'));
  expect(channel.text().trim().split('\n')).toEqual(['700 artifacts', '600 payload.json', '700 script']);
  expect(statSync(workFolder).isDirectory()).toBe(true);
});
