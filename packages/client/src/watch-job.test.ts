import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { Carillon } from './carillon.ts';
import { type Answer, json, scriptedServer } from './scripted-server.fixture.ts';

const status = (word: string) => ({ job_id: 'x', status: word, last_updated: '', latest_run: null });

/** Answers status after status, and as told where events are asked for. */
function server(words: string[], events: Answer) {
  return scriptedServer((asked, response) => {
    if (asked.path.startsWith('/api/events')) return events(asked, response);
    json(200, status(words.length > 1 ? words.shift()! : words[0]!))(asked, response);
  });
}

async function wordsOf(url: string): Promise<string[]> {
  const seen: string[] = [];
  for await (const { status: word } of new Carillon({ url }).watch('x')) seen.push(word);
  return seen;
}

test('each change is told once, and the end ends it', async () => {
  const words = ['pending', 'pending', 'running', 'running', 'completed'];
  let stream: ServerResponse | undefined;
  const { url, asked } = await scriptedServer(({ path }, response) => {
    if (path.startsWith('/api/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n');
      stream = response;
    } else {
      response.end(JSON.stringify(status(words.length > 1 ? words.shift()! : words[0]!)));
      // Something happens after every look.
      stream?.write('id: 1\ndata: {}\n\n');
    }
  });
  expect(await wordsOf(url)).toEqual(['pending', 'running', 'completed']);
  expect(asked.some(({ path }) => path === '/api/events?job_id=x')).toBe(true);
});

test('without a stream of events it looks by itself', async () => {
  const { url } = await server(['pending', 'failed'], json(404, { code: 'route_not_found', detail: 'no' }));
  expect(await wordsOf(url)).toEqual(['pending', 'failed']);
});

test('leaving the loop leaves nothing open', async () => {
  const open: Answer = (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': beat\n\n');
  };
  const { url } = await server(['running'], open);
  for await (const { status: word } of new Carillon({ url }).watch('x')) {
    expect(word).toBe('running');
    break;
  }
});
