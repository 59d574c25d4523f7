import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CONTRACT = join(import.meta.dirname, '../..');

function buf(...args: string[]): string {
  const program = join(CONTRACT, '../../node_modules/.bin/buf');
  const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: CONTRACT, encoding: 'utf8', env });
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
    expect(buf('generate', '--output', folder)).toBe('');
    expect(buf('generate', '--template', 'buf.gen.grpc.yaml', '--output', folder)).toBe('');
    expect(filesIn(join(CONTRACT, 'src/rpc/generated'))).toEqual(filesIn(join(folder, 'src/rpc/generated')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
