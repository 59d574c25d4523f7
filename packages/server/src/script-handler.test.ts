import { tmpdir } from 'node:os';
import { type Log, silentLog } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { configSchema } from './config/config-schema.ts';
import { openScriptHandler } from './script-handler.ts';

async function saidBy(script: object, runsJobs = true): Promise<string[]> {
  const said: string[] = [];
  const say = (_: object, message: string) => void said.push(message);
  const log: Log = { ...silentLog, info: say, warn: say };
  const parts = { isLocal: false, dataFolder: tmpdir(), hidden: [], runsJobs, own: () => [], log };
  expect(await openScriptHandler(configSchema.parse({ script }), parts)).toBeUndefined();
  return said;
}

test('a server that others can reach says that it runs no scripts, and how it would', async () => {
  expect(await saidBy({})).toEqual([expect.stringMatching(/scripts are off .*--script-enabled/)]);
});

test('nothing is said where scripts were switched off, or no jobs run', async () => {
  expect(await saidBy({ enabled: false })).toEqual([]);
  expect(await saidBy({}, false)).toEqual([]);
});
