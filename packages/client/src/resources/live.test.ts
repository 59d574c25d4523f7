import { expect, test } from 'vitest';
import { Carillon } from '../carillon.ts';
import { type Answer, scriptedServer } from '../scripted-server.fixture.ts';

const message = (id: string | null) => `${id ? `id: ${id}\n` : ''}data: {"id":${JSON.stringify(id)}}\n\n`;

const says =
  (...ids: (string | null)[]): Answer =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`retry: 1\n: connected\n\n${ids.map(message).join('')}`);
  };

test('live updates go on after the last one that had an id, and a page learns when they are lost', async () => {
  const { url, asked } = await scriptedServer(says('1', '2', null), says('3'));
  const seen: unknown[] = [];
  const states: string[] = [];
  const options = {
    namespace: 'team',
    onOpen: () => void states.push('open'),
    onLost: () => void states.push('lost'),
  };
  for await (const { id } of new Carillon({ url }).live(options)) {
    seen.push(id);
    if (seen.length === 4) break;
  }
  expect(seen).toEqual(['1', '2', null, '3']);
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2']);
  expect(asked[0]).toMatchObject({ path: '/api/live?namespace=team' });
  expect(states).toEqual(['open', 'lost', 'open']);
});
