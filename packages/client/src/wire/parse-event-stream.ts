/** Cuts a text/event-stream into its messages. Comments (heartbeats) are reported as a sign of life. */
export interface StreamMessage {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  /** How long to wait before connecting again, if the server says. */
  readonly retryMs: number | undefined;
}

/** One message longer than this is not from Carillon. */
const MESSAGE_CHARS_MAX = 4_000_000;

export async function* parseEventStream(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamMessage, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MESSAGE_CHARS_MAX) throw new Error('the event stream holds a message without an end');
    for (let end = endOfMessage(text); end; end = endOfMessage(text)) {
      yield readMessage(text.slice(0, end.at));
      text = text.slice(end.at + end.length);
    }
  }
}

function endOfMessage(text: string): { at: number; length: number } | undefined {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text);
  return found ? { at: found.index, length: found[0].length } : undefined;
}

function readMessage(text: string): StreamMessage {
  const fields = new Map<string, string>();
  for (const line of text.split(/\r\n|\n|\r/)) {
    const cut = line.indexOf(':');
    if (cut === 0 || line === '') continue;
    const name = cut < 0 ? line : line.slice(0, cut);
    const value = cut < 0 ? '' : line.slice(cut + 1).replace(/^ /, '');
    const before = fields.get(name);
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value);
  }
  const retry = fields.get('retry');
  return {
    id: fields.get('id'),
    event: fields.get('event'),
    data: fields.get('data'),
    retryMs: retry !== undefined && /^\d+$/.test(retry) ? Number(retry) : undefined,
  };
}
