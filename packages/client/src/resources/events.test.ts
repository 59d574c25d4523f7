import { expect, test } from 'vitest';
import { Carillon } from '../carillon.ts';
import { type Answer, json, scriptedServer } from '../scripted-server.fixture.ts';

const message = (id: string) => `id: ${id}\nevent: x\ndata: {"id":"${id}","type":"x","data":{}}\n\n`;

/** Breaks off after what it said. */
const stream =
  (...ids: string[]): Answer =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`retry: 1\n\n${ids.map(message).join('')}`);
  };

const staysOpen: Answer = (_asked, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(message('3'));
};

test('a stream that breaks is taken up after the last event that was seen', async () => {
  const away = json(503, { code: 'overloaded', detail: 'away' });
  const { url, asked } = await scriptedServer(stream('1', '2'), away, staysOpen);
  const seen: string[] = [];
  for await (const event of new Carillon({ url }).events.stream({ type: ['run', 'job'] })) {
    seen.push(event.id);
    if (seen.length === 3) break;
  }
  expect(seen).toEqual(['1', '2', '3']);
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2', '2']);
  expect(asked[0]).toMatchObject({ path: '/api/events?type=run&type=job' });
  expect(asked[0]?.headers.accept).toBe('text/event-stream');
});

test('an abort ends the stream without an error', async () => {
  const { url } = await scriptedServer(staysOpen);
  const controller = new AbortController();
  const seen: string[] = [];
  for await (const event of new Carillon({ url }).events.stream({ signal: controller.signal })) {
    seen.push(event.id);
    controller.abort();
  }
  expect(seen).toEqual(['3']);
});

test('a refusal ends it with the refusal', async () => {
  const { url, asked } = await scriptedServer(json(403, { code: 'forbidden', detail: 'no' }));
  const reading = new Carillon({ url }).events.stream().next();
  await expect(reading).rejects.toMatchObject({ code: 'forbidden' });
  expect(asked).toHaveLength(1);
});
