import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CONTRACT = join(import.meta.dirname, '../..');
const ENV = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };

function buf(...args: string[]): string {
  const program = join(CONTRACT, '../../node_modules/.bin/buf');
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: CONTRACT, encoding: 'utf8', env: ENV });
  return status === 0 ? '' : `${stdout}${stderr}` || `buf ended with ${status}`;
}

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(js|ts)$/.test(name),
  );
  return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

test('the proto files are clean: everything has a comment, names are the usual ones', () => {
  expect(buf('lint')).toBe('');
});

test('the proto files are formatted', () => {
  expect(buf('format', '--diff', '--exit-code')).toBe('');
});

test('the generated code is what the proto files say: otherwise run `node scripts/generate-rpc.ts`', () => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-generated-'));
  try {
    const script = join(CONTRACT, '../../scripts/generate-rpc.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8', env: ENV });
    expect([status, stderr]).toEqual([0, '']);
    expect(filesIn(join(CONTRACT, 'src/rpc/generated'))).toEqual(filesIn(join(folder, 'src/rpc/generated')));
    const worker = join(CONTRACT, '../worker/src/protocol/generated');
    expect(filesIn(worker)).toEqual(filesIn(join(folder, 'src/protocol/generated')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
