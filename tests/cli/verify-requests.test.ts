/**
 * docs/verify-requests.md as a receiver would use it: a whole server signs requests with keys that the command made, and the code of
 * the page, in each of its languages, tells them from forgeries.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { commandsIn } from './commands-in.ts';
import { launchCarillon } from './run-carillon.ts';

const PAGE = join(import.meta.dirname, '../../docs/verify-requests.md');
const run = promisify(execFile);
const TOKEN = 'a token of some length';

interface Request {
  readonly headers: Record<string, string>;
  readonly body: string;
}

let folder: string;
let server: ServerProcess;
let receiver: Server;
let address: string;
const received: Request[] = [];
const { json, ok } = commandsIn(() => folder);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-verify-test-'));
  await writeFile(join(folder, 'secrets.key'), randomBytes(32).toString('base64'));
  await writeFile(join(folder, 'token.txt'), TOKEN);
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = request.headers as Record<string, string>;
    received.push({ headers, body: Buffer.concat(chunks).toString('base64') });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const flags = ['--secrets-key-file', join(folder, 'secrets.key')];
  server = await launchServer({ name: '.carillon', folder, port: await fixedPort(), flags }).ready();
});

afterAll(async () => {
  await server?.stop(60_000);
  receiver?.close();
  await rm(folder, { recursive: true, force: true });
});

const makeKey = (...words: string[]) =>
  json<{ signing_key_id: string; secret: string }>(['signing-keys', ...words]);

/** The next request of a new job with so many signatures; earlier ones may come from before all servers knew the keys. */
async function signedRequest(signatures: number, payload: object = { body: { grüße: 1 } }): Promise<Request> {
  return eventually(
    async () => {
      const before = received.length;
      const body = { name: 'signed', handler: 'http', payload: { url: address, ...payload } };
      await callApi(server, '/api/jobs', { method: 'POST', body });
      const request = await eventually(() => received[before] ?? expect.fail('no request yet'), {
        withinMs: 60_000,
      });
      expect(request.headers['webhook-signature']?.split(' ')).toHaveLength(signatures);
      return request;
    },
    { withinMs: 60_000 },
  );
}

/** The code of the page in one language, as a program that answers for each line of its input. */
interface Language {
  readonly name: string;
  readonly fence: string;
  readonly program: string;
  readonly files: (code: string) => Record<string, string>;
  readonly args: readonly string[];
}

const LANGUAGES: readonly Language[] = [
  {
    ...{ name: 'TypeScript', fence: 'ts', program: process.execPath, args: ['main.ts', 'cases.json'] },
    files: (code) => ({
      'verify.ts': code,
      'main.ts': `import { readFileSync } from 'node:fs';
import { isFromCarillon } from './verify.ts';
const cases = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
console.log(JSON.stringify(cases.map((each: any) => isFromCarillon(each.headers, Buffer.from(each.body, 'base64'), each.secrets))));`,
    }),
  },
  {
    ...{ name: 'Python', fence: 'python', program: 'python3', args: ['main.py', 'cases.json'] },
    files: (code) => ({
      'verify.py': code,
      'main.py': `import base64, json, sys
from verify import is_from_carillon
cases = json.load(open(sys.argv[1]))
print(json.dumps([is_from_carillon(each["headers"], base64.b64decode(each["body"]), each["secrets"]) for each in cases]))`,
    }),
  },
  {
    ...{ name: 'Go', fence: 'go', program: 'go', args: ['run', '.', 'cases.json'] },
    files: (code) => ({
      'go.mod': 'module example\n\ngo 1.21\n',
      'verify/verify.go': code,
      'main.go': `package main

import (
	"encoding/base64"
	"encoding/json"
	"example/verify"
	"fmt"
	"net/http"
	"os"
)

type request struct {
	Headers map[string]string
	Body    string
	Secrets []string
}

func main() {
	var cases []request
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	answers := []bool{}
	for _, each := range cases {
		headers := http.Header{}
		for name, value := range each.Headers {
			headers.Set(name, value)
		}
		body, _ := base64.StdEncoding.DecodeString(each.Body)
		answers = append(answers, verify.IsFromCarillon(headers, body, each.Secrets))
	}
	text, _ = json.Marshal(answers)
	fmt.Println(string(text))
}
`,
    }),
  },
];

async function verdicts(
  language: Language,
  cases: readonly (Request & { secrets: string[] })[],
): Promise<unknown> {
  const page = await readFile(PAGE, 'utf8');
  const [, code = ''] = new RegExp(`^\`\`\`${language.fence}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  const home = await mkdtemp(join(folder, `${language.fence}-`));
  await run('mkdir', ['-p', join(home, 'verify')]);
  const files = { ...language.files(code), 'cases.json': JSON.stringify(cases) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const { stdout } = await run(language.program, [...language.args], { cwd: home, env });
  return JSON.parse(stdout);
}

async function isInstalled(program: string): Promise<boolean> {
  return run(program, [program === 'go' ? 'version' : '--version']).then(
    () => true,
    () => false,
  );
}

describe('requests of a namespace with signing keys', () => {
  let first: { signing_key_id: string; secret: string };
  let single: Request;
  let double: Request;
  let second: { signing_key_id: string; secret: string };

  beforeAll(async () => {
    first = await makeKey('create', 'default');
    single = await signedRequest(1);
    second = await makeKey('rotate', 'default', '--overlap', '1h');
    double = await signedRequest(2);
  });

  test.each(LANGUAGES)('are told from forgeries by the $name of the page', async (language) => {
    // Only where it is on the path: nobody should need it to work on Carillon.
    if (!(await isInstalled(language.program))) return;
    const empty = await signedRequest(2, { method: 'GET' });
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const old = { ...single.headers, 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 301) };
    const cases = [
      { ...single, secrets: [first.secret] },
      { ...single, secrets: [other, first.secret] },
      { ...double, secrets: [first.secret] },
      { ...double, secrets: [second.secret] },
      { ...empty, secrets: [second.secret] },
      { ...single, secrets: [second.secret] },
      { ...single, secrets: [other] },
      { ...single, secrets: [] },
      { ...single, body: Buffer.from('{"forged":true}').toString('base64'), secrets: [first.secret] },
      { ...single, headers: { ...single.headers, 'webhook-id': 'another' }, secrets: [first.secret] },
      { ...single, headers: old, secrets: [first.secret] },
      { ...single, headers: { ...single.headers, 'webhook-timestamp': 'soon' }, secrets: [first.secret] },
      { ...single, headers: {}, secrets: [first.secret] },
    ];
    expect(await verdicts(language, cases)).toEqual([...Array(5).fill(true), ...Array(8).fill(false)]);
  });

  test('carry the id of the run as the id that repeats', () => {
    expect(single.headers['webhook-id']).toBe(single.headers['carillon-run-id']);
    expect(single.headers['webhook-id']).toBe(single.headers['idempotency-key']);
  });

  test('are signed as well when a worker on another machine sends them, by both keys while they overlap', async () => {
    const [inServer] = await json<{ worker_id: string }[]>(['workers', 'list']);
    await ok(['workers', 'drain', inServer!.worker_id, '--wait']);
    await ok(['secrets', 'set', 'token', '--from-file', join(folder, 'token.txt')]);
    const create = ['keys', 'create', 'senders', '--worker', '--handlers', 'http'];
    const { key } = await json<{ key: string }>(create);
    const worker = launchCarillon(['worker', '--url', server.address, '--handlers', 'http'], {
      cwd: folder,
      env: { CARILLON_KEY: key },
    });
    try {
      const plain = await signedRequest(2);
      const secret = await signedRequest(2, { body: { token: '{{secrets.token}}' } });
      expect(Buffer.from(secret.body, 'base64').toString()).toContain(TOKEN);
      const forged = { ...plain, body: Buffer.from('{"forged":true}').toString('base64') };
      const cases = [plain, secret, forged].flatMap((request) =>
        [first, second].map((signing) => ({ ...request, secrets: [signing.secret] })),
      );
      expect(await verdicts(LANGUAGES[0]!, cases)).toEqual([true, true, true, true, false, false]);
      expect(worker.said.stderr).toContain('connected to');
      for (const { secret: text } of [first, second])
        expect(`${worker.said.stderr}${worker.said.stdout}`).not.toContain(text.slice('whsec_'.length));
    } finally {
      worker.signal('SIGTERM');
      await worker.ended;
      await ok(['workers', 'undrain', inServer!.worker_id]);
    }
  });

  test('the secret is nowhere else: in no list, in no entry of the audit log, and encrypted in the files of the database', async () => {
    const keys = await json(['signing-keys', 'list', 'default']);
    const audit = (await callApi(server, '/api/audit?action=signing_keys.create')).body;
    expect(keys).toMatchObject([
      { signing_key_id: first.signing_key_id, ends_at: expect.any(String) },
      { signing_key_id: second.signing_key_id, ends_at: null },
    ]);
    expect(audit).toMatchObject([
      { action: 'signing_keys.create', subject: { id: second.signing_key_id } },
      { action: 'signing_keys.create', subject: { id: first.signing_key_id } },
    ]);
    for (const secret of [first.secret, second.secret]) {
      const base64 = secret.slice('whsec_'.length);
      expect(JSON.stringify([keys, audit])).not.toContain(base64);
      const found = await run('grep', ['-rFl', base64, server.dataDir]).catch(({ stdout }) => ({ stdout }));
      expect(found.stdout).toBe('');
    }
  });

  test('a deleted key signs no more, and without any key requests are sent unsigned', async () => {
    await ok(['signing-keys', 'delete', first.signing_key_id, second.signing_key_id, '--yes']);
    const unsigned = await eventually(
      async () => {
        const before = received.length;
        const body = { name: 'plain', handler: 'http', payload: { url: address } };
        await callApi(server, '/api/jobs', { method: 'POST', body });
        const request = await eventually(() => received[before] ?? expect.fail('no request yet'), {
          withinMs: 60_000,
        });
        expect(request.headers['webhook-signature']).toBeUndefined();
        return request;
      },
      { withinMs: 60_000 },
    );
    expect(unsigned.headers['webhook-id']).toBeUndefined();
  });
});
