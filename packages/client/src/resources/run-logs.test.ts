/** A tail goes on while its server is away, and tells whoever shows it. */
import { expect, it } from 'vitest';
import { Carillon } from '../carillon.ts';
import { scriptedServer } from '../scripted-server.fixture.ts';

it('tells why it is lost, and when it is open', async () => {
  const { url } = await scriptedServer(
    (_asked, response) => {
      response.writeHead(503, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ code: 'storage_unavailable', detail: 'The database does not answer.' }));
    },
    (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('event: end\ndata: {"status":"SUCCESS"}\n\n');
    },
  );
  const told: string[] = [];
  const lines = new Carillon({ url, retriesMax: 0 }).runs.tailLogs('a', {
    onOpen: () => void told.push('open'),
    onLost: (error) => void told.push((error as Error).message),
  });
  for await (const { kind } of lines) told.push(kind);
  expect(told).toEqual(['The database does not answer.', 'open', 'end']);
});
