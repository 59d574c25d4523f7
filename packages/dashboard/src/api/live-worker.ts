/** The SharedWorker that holds the one stream of this browser, as long as a tab wants it. */
import { Carillon } from '@carillon/client';
import type { LiveMessage } from './live-stream.ts';

interface Asked {
  readonly kind: 'follow' | 'leave';
  readonly url?: string;
}

const RETRY_MS = 5_000;
const ports = new Set<MessagePort>();
let end: AbortController | undefined;
let isOpen = false;

function tell(message: LiveMessage): void {
  if (message.kind === 'open' || message.kind === 'lost') isOpen = message.kind === 'open';
  for (const port of ports) port.postMessage(message);
}

async function follow(url: string): Promise<void> {
  const client = new Carillon({ url });
  while (ports.size > 0) {
    const current = new AbortController();
    end = current;
    try {
      const updates = client.live({
        signal: current.signal,
        onOpen: () => tell({ kind: 'open' }),
        onHeard: () => tell({ kind: 'heard' }),
        onLost: () => tell({ kind: 'lost' }),
      });
      for await (const update of updates) tell({ kind: 'update', update });
    } catch {
      // Refused, for instance because nobody is signed in any more: asked again a little later, while a tab is open.
      tell({ kind: 'lost' });
    }
    // Given up because no tab was left: one that has come since, such as the next page of the same tab, waits for nothing.
    if (ports.size > 0 && !current.signal.aborted)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  end = undefined;
}

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<Asked>) => {
    if (data.kind === 'leave') {
      ports.delete(port);
      if (ports.size > 0) return;
      isOpen = false;
      end?.abort();
      return;
    }
    const isFirst = ports.size === 0 && end === undefined;
    ports.add(port);
    if (isFirst) void follow(data.url!);
    else port.postMessage({ kind: isOpen ? 'open' : 'lost' } satisfies LiveMessage);
  };
};
