import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { greeting, VERSION } from './greeting.ts';
import type { StartedServer } from './start-server.ts';

test('the version that a server greets with is that of the manifest', () => {
  expect(VERSION).toBe(manifest.version);
});

test.each<[StartedServer['roles'], boolean]>([
  [['gateway'], true],
  [['reads'], true],
  [['writes', 'scheduler'], true],
  [['engine'], false],
  [['scheduler'], false],
  [['scheduler', 'dispatcher'], false],
])('as %j it says whether its address answers requests: %j', (roles, answers) => {
  const told = { address: 'http://here', adminKeyFile: '/key', database: 'PostgreSQL', roles };
  const words = greeting(told as StartedServer);
  expect(words).toContain(`is ready as ${roles.join(' and ')}.`);
  expect(words.includes('http://here (health and metrics)')).toBe(!answers);
});
