/** What scripts must not read of a server that runs as their user. */
import { expect, test } from 'vitest';
import { configSchema } from './config-schema.ts';
import { isPrivatePath, privatePaths } from './private-paths.ts';
import { SETTINGS } from './settings.ts';

test('every setting that names a file or a folder is private, but those that are named here', () => {
  const named = SETTINGS.filter(({ key }) => /(_file|folder|^data)$/.test(key));
  const open = named.filter((setting) => !isPrivatePath(setting)).map(({ key }) => key);
  expect(open).toEqual(['trust_folder', 'tls.cert_file', 'tls.client_ca_file', 'script.work_folder']);
  expect(named.length).toBeGreaterThan(open.length);
});

test('the file of the settings and the key for the database are private too', () => {
  const config = configSchema.parse({
    data: '/srv/data',
    database_url: 'postgres://db.example.org/carillon?sslkey=/srv/db.key',
    logs: { folder: '/srv/logs' },
    secrets: { key_file: '/srv/secrets.key' },
  });
  expect(privatePaths(config, '/srv/carillon.json').toSorted()).toEqual([
    '/srv/carillon.json',
    '/srv/data',
    '/srv/db.key',
    '/srv/logs',
    '/srv/secrets.key',
  ]);
});
