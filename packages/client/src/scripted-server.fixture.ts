/** A server that answers as it is told and remembers what it was asked: for what no real server does on demand. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

/** Answers in order; the last one again and again. */
export async function scriptedServer(...answers: Answer[]): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url: path = '', headers } = request;
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push({ method, path, headers, body });
    answer?.({ method, path, headers, body }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}
