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
  const words = greeting(told as StartedServer, { cwd: '/' });
  expect(words).toContain(`is ready as ${roles.join(' and ')}.`);
  expect(words.includes('http://here (health and metrics)')).toBe(!answers);
});

test.each([
  ['/home/ada', '/home/ada/.carillon', 'http://127.0.0.1:7420', 'carillon jobs list\n'],
  ['/home/ada', '/var/lib/it', 'http://127.0.0.1:7420', 'carillon jobs list --data /var/lib/it\n'],
  ['/home/ada', '/tmp/a b', 'http://0.0.0.0:7420', "carillon jobs list --data '/tmp/a b'\n"],
  ['/tmp', '/tmp/.carillon', 'http://10.0.0.5:7420', ' --url http://10.0.0.5:7420 --data /tmp/.carillon\n'],
])('in %s with the data in %s its command works as it stands', (cwd, data, address, words) => {
  const roles: StartedServer['roles'] = ['gateway', 'engine'];
  const told = { address, adminKeyFile: `${data}/admin.key`, database: 'PostgreSQL', roles };
  expect(greeting(told as StartedServer, { cwd })).toContain(words);
});

test.each<[StartedServer['roles']]>([[['gateway', 'engine']], [['gateway']]])(
  'as %j it says how to sign in, on one line',
  (roles) => {
    const told = { address: 'http://here', adminKeyFile: '/key', database: 'PostgreSQL', roles };
    const signInLink = 'http://here/#ticket=abc';
    expect(greeting(told as StartedServer, { cwd: '/', signInLink })).toContain(
      '\n  sign in    http://here/#ticket=abc (once, within 10 minutes)\n',
    );
    expect(greeting(told as StartedServer, { cwd: '/' })).not.toContain('sign in');
  },
);
