/** The client in a browser: with the types and the globals of web pages, and none of Node. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { json, scriptedServer } from './scripted-server.fixture.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const FLAGS =
  '--ignoreConfig --noEmit --strict --target es2024 --module esnext --moduleResolution bundler --allowImportingTsExtensions';

test('no file of it mentions what only Node has', async () => {
  const complaints = await run(
    join(ROOT, 'node_modules/.bin/tsc'),
    [...FLAGS.split(' '), '--lib', 'es2024,dom,dom.iterable', '--types', '', 'packages/client/src/index.ts'],
    { cwd: ROOT },
  ).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
  expect(complaints).toBe('');
});

/** Runs as a page would: `fetch` works only as a function of its window, and streams cannot be walked with `for await`. */
const PAGE = `
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { createContext, SourceTextModule } from 'node:vm';
const [entry, url] = process.argv.slice(1);
const secureOnly = { getRandomValues: (bytes) => crypto.getRandomValues(bytes) };
function pageFetch(...request) {
  if (this !== undefined) throw new TypeError('Illegal invocation');
  return fetch(...request).then((response) => {
    if (response.body) Object.defineProperty(response.body, Symbol.asyncIterator, { value: undefined });
    return response;
  });
}
const web = { AbortController, AbortSignal, Headers, Response, TextDecoder, URL, URLSearchParams, Uint8Array,
  setTimeout, clearTimeout, console, crypto: secureOnly, fetch: pageFetch,
  navigator: { userAgent: 'Mozilla/5.0' }, server: url };
const page = createContext(web);
const loaded = new Map();
const load = (address, text = stripTypeScriptTypes(readFileSync(new URL(address), 'utf8'))) => {
  if (!loaded.has(address)) loaded.set(address, new SourceTextModule(text, { context: page, identifier: address }));
  return loaded.get(address);
};
const link = (specifier, { identifier }) => {
  if (!specifier.startsWith('.')) throw new Error(identifier + ' imports ' + specifier);
  return load(new URL(specifier, identifier).href);
};
const main = load(new URL('./page.ts', entry).href, \`
  import { Carillon } from './index.ts';
  const carillon = new Carillon({ url: server, key: 'ck_1', userAgent: 'page/1' });
  const { job_id, created } = await carillon.jobs.create({ name: 'x' });
  console.log(job_id, created);
  for await (const { type } of carillon.events.stream()) {
    console.log(type);
    break;
  }
\`);
await main.link(link);
await main.evaluate();
`;

test('it makes a job and reads the stream of events on a page', async () => {
  const { url, asked } = await scriptedServer(json(201, { job_id: '17' }), (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 1-1\ndata: {"type":"job.created"}\n\n');
  });
  const flags = ['--experimental-vm-modules', '--no-warnings', '--input-type=module', '-e', PAGE];
  const entry = new URL('./index.ts', import.meta.url).href;
  const { stdout } = await run(process.execPath, [...flags, entry, url]);
  expect(stdout).toBe('17 true\njob.created\n');
  expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer ck_1' });
  expect(asked[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  expect(asked[0]?.headers['user-agent']).not.toContain('carillon');
});
