import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NEVER_CALLED } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ANOTHER_USER, testAsRoot } from '../../../../tests/support/folder-of-another-user.ts';
import { configSchema } from './config-schema.ts';
import { loadConfig } from './load-config.ts';
import { renderConfigReference, renderHelp } from './render-config-reference.ts';
import { ConfigError, HARMLESS_SETTINGS, SETTINGS } from './settings.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'carillon-config-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** `file` is named by a flag, `found` merely lies in the folder. */
type Given = { argv?: string[]; env?: Record<string, string>; file?: unknown; found?: unknown };

function load({ argv: flags = [], env = {}, file, found }: Given) {
  const written = file ?? found;
  if (written !== undefined) writeFileSync(join(cwd, 'carillon.config.json'), JSON.stringify(written));
  const argv = file === undefined ? flags : [...flags, '--config', 'carillon.config.json'];
  const loaded = loadConfig({ argv, env, cwd });
  if (loaded.kind !== 'run') throw new Error(`answered ${loaded.kind}`);
  return loaded.config;
}

function complaintOf(given: Given): string {
  try {
    load(given);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.replaceAll(cwd, '.');
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(given)}`);
}

test('nothing has to be configured', () => {
  expect(load({})).toEqual({
    port: 7420,
    data: '.carillon',
    trust_folder: false,
    roles: ['gateway', 'engine'],
    log_level: 'info',
    retention_days: 30,
    audit_retention_days: 365,
    look_ahead_seconds: 300,
    shutdown_grace_seconds: 30,
    retries_per_second: 1_000,
    redact_names: [],
    body_limit_kb: 1_024,
    handlers: [],
    tls: {},
    database: { connections_max: 10, connect_timeout_seconds: 5, statement_timeout_seconds: 30 },
    executor: { slots: 256 },
    worker: { silent_seconds: 15 },
    node: { ttl_seconds: 10 },
    trusted_proxies: [],
    allowed_hosts: [],
    connections: { total_max: 10_000, address_max: 1_000 },
    rate_limit: { key_per_second: 1_000, address_per_second: 5_000, burst_seconds: 10 },
    session: { idle_minutes: 720, max_hours: 168, start_link: true },
    oidc: {
      ...{ scopes: ['openid', 'profile', 'email'], groups_claim: 'groups' },
      ...{ grants: [], label: 'Single sign-on' },
    },
    events: { retention_days: 7, listeners_max: 1_000 },
    logs: {
      ...{ result_max_mb: 64, artifacts_max_mb: 100, retention_days: 30 },
      s3: { region: 'us-east-1', prefix: 'carillon-logs' },
    },
    metrics: { open: false },
    secrets: {},
    http: {
      response_bytes_max: 8_192,
      egress: 'open',
      allow: [],
      deny_networks: [],
    },
    script: {
      interpreters: ['bash', 'sh', 'python3', 'node', 'ruby', 'perl'],
      path: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      roots: [],
      user: 'nobody',
      pass_env: [],
      memory_mb: 1_024,
      cpu_seconds: 3_600,
      processes: 256,
      files: 1_024,
      file_size_mb: 1_024,
      stop_grace_seconds: 4,
    },
  });
});

test('which server commands talk to is no setting of a server', () => {
  expect(load({ env: { CARILLON_URL: 'http://x', CARILLON_KEY: 'ck_x' } })).toEqual(load({}));
});

test('a server plays the roles it is told, and only known ones', () => {
  expect(load({ argv: ['--roles', 'gateway'] }).roles).toEqual(['gateway']);
  expect(load({ argv: ['--roles', 'scheduler,reads'] }).roles).toEqual(['scheduler', 'reads']);
  expect(load({ argv: ['--roles', 'dispatcher'] }).roles).toEqual(['dispatcher']);
  expect(complaintOf({ argv: ['--roles', 'worker'] })).toContain(
    'one of gateway, reads, writes, engine, scheduler, dispatcher',
  );
});

describe('order', () => {
  test('the file beats defaults, the environment beats the file, flags beat all', () => {
    const file = { port: 1, host: 'file', data: 'file', executor: { slots: 1 } };
    const env = { CARILLON_PORT: '2', CARILLON_HOST: 'env', CARILLON_EXECUTOR_SLOTS: '2', PATH: '/bin' };
    const argv = ['--port', '3', '--executor-slots=3'];
    expect(load({ file, env, argv })).toMatchObject({
      port: 3,
      host: 'env',
      data: 'file',
      executor: { slots: 3 },
    });
  });

  test('another file can be named, and must then be there', () => {
    writeFileSync(join(cwd, 'other.json'), '{"port": 9}');
    expect(load({ argv: ['--config', 'other.json'] }).port).toBe(9);
    expect(load({ env: { CARILLON_CONFIG: 'other.json' } }).port).toBe(9);
    expect(complaintOf({ argv: ['--config=missing.json'] })).toBe(
      'The configuration file ./missing.json cannot be read (ENOENT).',
    );
  });

  test('no file says that a folder is trusted: it may have come with the folder', () => {
    expect(load({ argv: ['--trust-folder'] }).trust_folder).toBe(true);
    expect(load({ env: { CARILLON_TRUST_FOLDER: 'true' } }).trust_folder).toBe(true);
    expect(complaintOf({ file: { trust_folder: true } })).toContain('CARILLON_TRUST_FOLDER=true');
  });

  testAsRoot('a file of another user is read only when it is named', () => {
    const path = join(cwd, 'carillon.config.json');
    writeFileSync(path, '{"port": 9}');
    chownSync(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
    expect(complaintOf({})).toBe(
      'The configuration file ./carillon.config.json belongs to user 65534, who could change what this server does: it is not used. Name it with --config (or CARILLON_CONFIG) if it is meant, or remove it.',
    );
    expect(load({ argv: ['--config', 'carillon.config.json'] }).port).toBe(9);
  });

  test('empty variables and those of the starter and of tests are no settings', () => {
    const env = {
      CARILLON_PORT: '',
      CARILLON_CONFIG: '',
      CARILLON_PARENT_FD: '3',
      CARILLON_TEST_LONG: 'true',
    };
    expect(load({ env }).port).toBe(7420);
  });

  test('lists are separated by commas', () => {
    const { http } = load({ argv: ['--http-deny-networks', '10.0.0.0/8, 192.168.0.0/16'] });
    expect(http.deny_networks).toEqual(['10.0.0.0/8', '192.168.0.0/16']);
    expect(load({ env: { CARILLON_HTTP_DENY_NETWORKS: ',' } }).http.deny_networks).toEqual([]);
  });
});

test('scripts have their own settings', () => {
  expect(load({ argv: ['--script-enabled', '--script-roots', '/srv/a,/srv/b'] }).script).toMatchObject({
    enabled: true,
    roots: ['/srv/a', '/srv/b'],
  });
  expect(
    load({ env: { CARILLON_SCRIPT_INTERPRETERS: 'bash,php=/opt/php' } }).script.interpreters,
  ).toHaveLength(2);
  expect(complaintOf({ argv: ['--script-interpreters', 'a b'] })).toContain(
    'must be names of programs, or name=/path',
  );
  expect(complaintOf({ argv: ['--script-roots', 'here'] })).toContain('must be absolute paths of folders');
  expect(complaintOf({ argv: ['--script-stop-grace-seconds', '5'] })).toContain('must be at most 4');
});

describe('complaints', () => {
  test.each<[Given, string]>([
    [{ argv: ['--prot', '1'] }, 'Unknown flag --prot. Did you mean --port?'],
    [{ argv: ['--executor.slots=1'] }, 'Unknown flag --executor.slots. Did you mean --executor-slots?'],
    [{ argv: ['--colour', 'red'] }, 'Unknown flag --colour. See --help for all of them.'],
    [
      { argv: ['start'] },
      'Unexpected argument "start". Settings are given as --name value; with npm behind two dashes: npm start -- --port 7499.',
    ],
    [
      { argv: ['--metrics-open', 'true'] },
      '--metrics-open is a flag without a value: leave out "true", or write --metrics-open=true.',
    ],
    [
      { argv: ['--metrics-open', 'yes', '--port', '1'] },
      '--metrics-open is a flag without a value: leave out "yes", or write --metrics-open=true.',
    ],
    [{ argv: ['--port'] }, '--port needs a value.'],
    [{ argv: ['--data', '--port', '1'] }, '--data needs a value.'],
    [{ argv: ['--port', 'http'] }, '--port (port) must be a number, and is "http".'],
    [{ argv: ['--port', '70000'] }, '--port must be at most 65535.'],
    [{ argv: ['--port=1.5'] }, '--port must be a whole number.'],
    [{ argv: ['--log-level', 'loud'] }, '--log-level must be one of debug, info, warn, error, silent.'],
    [
      { env: { CARILLON_DATABSE_URL: 'x' } },
      'Unknown environment variable CARILLON_DATABSE_URL. Did you mean CARILLON_DATABASE_URL?',
    ],
    [
      { env: { CARILLON_DATABASE_URL: 'mysql://u:secret@h/d' } },
      'CARILLON_DATABASE_URL must begin with postgres:// or postgresql://.',
    ],
    [{ file: { prot: 1 } }, 'Unknown setting in ./carillon.config.json: prot. Did you mean port?'],
    [
      { file: { executor: { slot: 1 } } },
      'Unknown setting in ./carillon.config.json: executor.slot. Did you mean executor.slots?',
    ],
    [{ file: { port: '7420' } }, '"port" in ./carillon.config.json must be of type number.'],
    [
      { file: { http: { deny_networks: [5] } } },
      '"http.deny_networks" in ./carillon.config.json must be of type string.',
    ],
    [
      { file: [] },
      'The configuration file ./carillon.config.json must hold a JSON object: docs/configuration.md shows how.',
    ],
    [{ argv: ['--public-url', 'ftp://x'] }, '--public-url must be an http:// or https:// address.'],
    [{ argv: ['--tls-cert-file', 'a.pem'] }, 'tls.key_file must be given, since tls.cert_file is.'],
    [{ argv: ['--tls-key-file', 'a.pem'] }, 'tls.cert_file must be given, since tls.key_file is.'],
    [
      { argv: ['--tls-client-ca-file', 'a.pem'] },
      'tls.cert_file must be given, since tls.client_ca_file is.',
    ],
    [
      { argv: ['--tls-client-certificate', 'optional'] },
      'tls.client_ca_file must be given, since tls.client_certificate is.',
    ],
    [{ argv: ['--tls-redirect-port', '80'] }, 'tls.cert_file must be given, since tls.redirect_port is.'],
    [{ argv: ['--http-egress', 'closed'] }, '--http-egress must be one of open, internet, listed.'],
    [
      { argv: ['--http-allow', 'http://example.com'] },
      '--http-allow must be hosts, addresses or networks, such as api.example.com, *.example.com:443 or 10.0.0.0/8.',
    ],
    [{ argv: ['--http-deny-networks', 'home'] }, '--http-deny-networks must be networks such as 10.0.0.0/8.'],
  ])('%j', (given, message) => {
    expect(complaintOf(given)).toBe(message);
  });

  test('all wrong values are told at once', () => {
    expect(complaintOf({ argv: ['--port', '-1', '--retention-days', '0'] })).toBe(
      '--port must be at least 0.\n--retention-days must be at least 1.',
    );
  });

  test('a broken file is named', () => {
    writeFileSync(join(cwd, 'carillon.config.json'), '{');
    const complaint = complaintOf({});
    expect(complaint).toMatch(/^The configuration file \.\/carillon\.config\.json is not valid JSON: /);
    expect(complaint).toMatch(/\. It must be JSON: docs\/configuration\.md shows how\.$/);
  });
});

test('questions are answered before anything is judged', () => {
  expect(loadConfig({ argv: ['--help'], env: { CARILLON_X: '1' }, cwd })).toEqual({ kind: 'help' });
  expect(loadConfig({ argv: ['-v'], env: {}, cwd })).toEqual({ kind: 'version' });
});

describe('the reference', () => {
  test('docs/configuration.md is what the schema says', () => {
    const page = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toBe(renderConfigReference());
  });

  test('the examples of docs/egress.md are settings', () => {
    const page = readFileSync(new URL('../../../../docs/egress.md', import.meta.url), 'utf8');
    const files = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => JSON.parse(text));
    const [, flags = ''] = /^npm start -- (.*)$/m.exec(page) ?? [];
    expect(files.length).toBeGreaterThanOrEqual(4);
    expect(load({ argv: flags.split(' ') }).http).toMatchObject(files[0].http);
    for (const file of files) expect(load({ file }).http).toMatchObject(file.http);
    for (const network of NEVER_CALLED) expect(page).toContain(`\`${network}\``);
  });

  test('every setting is explained, in the reference and in --help', () => {
    const help = renderHelp();
    for (const { flag, description } of SETTINGS) {
      expect(description).toMatch(/^[A-Z].*\.$/);
      expect(help).toContain(`${flag} `);
    }
    expect(help).toMatch(/--port <number> +Port of the gateway.*\[7420\]/);
  });

  test('every default is itself allowed, and no two settings share a name', () => {
    expect(configSchema.safeParse({}).success).toBe(true);
    expect(new Set(SETTINGS.map(({ variable }) => variable)).size).toBe(SETTINGS.length);
  });
});

describe('a file that was only found in the current folder', () => {
  const found = { database_url: 'postgres://db.example.com/jobs' };

  test('does not name the database, whose jobs the server would run (hazard 49)', () => {
    expect(complaintOf({ found })).toBe(
      '"database_url" in ./carillon.config.json is not used, since the file was only found in the current folder and may have come with it. Name the file with --config (or CARILLON_CONFIG) if it is yours.',
    );
    expect(load({ env: { CARILLON_CONFIG: 'carillon.config.json' } })).toMatchObject(found);
  });

  test.each(SETTINGS.map(({ key }) => key))('%s is set only if it is harmless', (key) => {
    const setting = SETTINGS.find((known) => known.key === key)!;
    const value = setting.path.reduceRight<unknown>(
      (inner, name) => ({ [name]: inner }),
      setting.fallback ?? '',
    );
    if (HARMLESS_SETTINGS.has(key)) expect(load({ found: value })).toMatchObject(value as object);
    else expect(complaintOf({ found: value })).toMatch(/ (is not used, since|is not allowed)/);
  });

  test('what is called harmless is a setting', () => {
    const keys = SETTINGS.map(({ key }) => key);
    for (const key of HARMLESS_SETTINGS) expect(keys).toContain(key);
  });
});

describe('handlers are code that the server runs', () => {
  const file = { handlers: ['their-handler', { module: './mine.mjs', options: { a: 1 } }] };

  test('a file that was found in the current folder does not name them, one that was named does (hazard 49)', () => {
    expect(complaintOf({ found: file })).toMatch(/^"handlers" in \.\/carillon\.config\.json is not used/);
    expect(load({ file }).handlers).toEqual(file.handlers);
  });

  test('flags and variables name them without options', () => {
    expect(load({ argv: ['--handlers', './a.mjs,b'] }).handlers).toEqual(['./a.mjs', 'b']);
    expect(load({ env: { CARILLON_HANDLERS: 'b' } }).handlers).toEqual(['b']);
  });

  test.each([[7], [{ options: {} }], [{ module: 'a', colour: 1 }], ['']])('%j is no handler', (entry) => {
    writeFileSync(join(cwd, 'other.json'), JSON.stringify({ handlers: [entry] }));
    expect(complaintOf({ argv: ['--config', 'other.json'] })).toMatch(/^"handlers" in \.\/other\.json /);
  });
});

describe('a bucket for logs', () => {
  test('is named by flags and variables', () => {
    const { logs } = load({ argv: ['--logs-s3-bucket', 'logs'], env: { CARILLON_LOGS_S3_PREFIX: 'a/b' } });
    expect(logs.s3).toEqual({ bucket: 'logs', region: 'us-east-1', prefix: 'a/b' });
  });

  test.each([
    [
      ['--logs-s3-endpoint', 'http://127.0.0.1:9000'],
      'logs.s3.bucket must be given, since logs.s3.endpoint is.',
    ],
    [
      ['--logs-s3-bucket', 'logs', '--logs-folder', '/logs'],
      '--logs-folder must be left out, since logs.s3.bucket is given.',
    ],
    [
      ['--logs-s3-bucket', 'logs', '--logs-s3-secret-access-key-file', 'key'],
      'logs.s3.access_key_id must be given together with logs.s3.secret_access_key_file.',
    ],
    [['--logs-s3-bucket', 'Logs'], '--logs-s3-bucket must be the name of a bucket.'],
    [
      ['--logs-s3-prefix', '../x'],
      '--logs-s3-prefix must be names with letters, digits and . _ -, separated by /.',
    ],
  ])('%j is refused', (argv, complaint) => {
    expect(complaintOf({ argv })).toBe(complaint);
  });
});
