/** Answers of a real server on loopback that hold a secret where they are cut. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimedRun } from '../claimed-run.fixture.ts';
import { outcomeOfAnswer, outcomeOfError } from '../outcome-of.ts';
import { RunInProgress } from '../run-in-progress.ts';
import { createHttpHandler, HTTP_DEFAULTS } from './http-handler.ts';

let server: Server;
let port: number;
let answer: (request: unknown, response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** The outcome of a run with this secret, as it would be kept. */
async function outcomeWith(secret: string, options: Partial<typeof HTTP_DEFAULTS> = {}): Promise<string> {
  const claimed = claimedRun({
    payload: JSON.stringify({ url: `http://127.0.0.1:${port}/` }),
    secrets: [secret],
  });
  const run = new RunInProgress(claimed, 0);
  const handler = createHttpHandler({ ...HTTP_DEFAULTS, ...options });
  const outcome = await Promise.resolve(handler(run)).then(
    (value) => outcomeOfAnswer(run, value),
    (error: unknown) => outcomeOfError(run, error),
  );
  return JSON.stringify(outcome);
}

function answerWith(status: number, headers: Record<string, string> = {}, body = ''): void {
  answer = (_, response) => response.writeHead(status, headers).end(body);
}

describe('a secret that stands where an answer is cut', () => {
  const SECRET = 'S3cr&"t<Zq9-xyzzy/plugh+0042';
  const forms = {
    plain: SECRET,
    url: encodeURIComponent(SECRET),
    base64: Buffer.from(SECRET).toString('base64'),
    json: JSON.stringify(SECRET).slice(1, -1),
  };
  const expectNothingOf = (form: string, outcome: string) => expect(outcome).not.toContain(form.slice(0, 3));

  test.each(Object.entries(forms))('is not shown in the result, %s', async (_, form) => {
    for (let shown = 1; shown <= form.length; shown += 1) {
      answerWith(200, {}, `${'x'.repeat(100 - shown)}${form}${' and more'.repeat(20)}`);
      const outcome = await outcomeWith(SECRET, { responseBytesMax: 100 });
      expectNothingOf(form, outcome);
      expect(outcome).toContain('\\"truncated\\":true');
    }
  });

  test.each(Object.entries(forms))('is not shown in the error, %s', async (_, form) => {
    for (let shown = 1; shown <= form.length; shown += 1) {
      answerWith(500, {}, `${'x'.repeat(200 - shown)}${form} and more`);
      expectNothingOf(form, await outcomeWith(SECRET));
      answerWith(302, { location: `/${'x'.repeat(199 - shown)}${form}/more` });
      expectNothingOf(form, await outcomeWith(SECRET));
    }
  });

  test('is not shown where its lines are joined for the error, nor after a flood', async () => {
    const lines = 'one\ntwo\nthree\nfour';
    answerWith(500, {}, `it was ${lines}.`);
    expect(await outcomeWith(lines)).not.toContain('two');
    answer = (_, response) => {
      response.write(SECRET.repeat(80_000));
      response.end(SECRET.slice(0, -1));
    };
    expect(await outcomeWith(SECRET)).not.toContain(SECRET.slice(0, 4));
  });
});
