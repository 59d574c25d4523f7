/**
 * The logs in the folder of another server, read through that server. Every request has an end: a server that does not answer in time, or
 * answers wrongly, is not asked again for a moment, and its readers are told. What it sends is bounded by what was asked for.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { NodeId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { LogKey, LogSegment } from '../log-store/log-store.ts';
import { LogOutOfReach, type LogSource } from '../run-logs/run-logs.ts';
import type { Peer } from '../storage/member-store.ts';
import type { Peers } from './peers.ts';

/** Below it a server answers other servers. */
export const PEER_LOGS_PATH = '/internal/logs';
/** The process that answered: the program at an address may be another by now. */
export const ANSWERED_BY = 'x-carillon-server';

const ANSWER_MS_MAX = 5_000;
const QUIET_MS = 2_000;
const SEGMENTS_BYTES_MAX = 64 * 1_024;
const SOCKETS_MAX = 16;
const IDLE_SOCKETS_MAX = 2;
const CONTACTS_MAX = 100;

export interface PeerLogsOptions {
  readonly peers: Peers;
  readonly clock: Clock;
  /** For tests. */
  readonly answerMsMax?: number;
}

interface Asked {
  readonly path: string;
  readonly bytesMax: number;
}

/** What is known of a process that was asked before. */
interface Contact {
  readonly agent: Agent;
  /** Where it answered last. */
  url?: string | undefined;
  quietUntil: number;
  fault: string;
}

export class PeerLogs {
  readonly #options: PeerLogsOptions;
  readonly #contacts = new Map<string, Contact>();

  constructor(options: PeerLogsOptions) {
    this.#options = options;
  }

  /** Undefined: it is not known where this server is reached. */
  async of(nodeId: NodeId): Promise<LogSource | undefined> {
    const peer = await this.#options.peers.at(nodeId);
    if (!peer) return undefined;
    return {
      segments: async (log) =>
        segmentsIn(await this.#ask(peer, { path: pathOf(log), bytesMax: SEGMENTS_BYTES_MAX })),
      read: (log, { segment, from, bytesMax }) =>
        this.#ask(peer, { path: `${pathOf(log)}/${segment}?from=${from}&bytes=${bytesMax}`, bytesMax }),
    };
  }

  close(): void {
    for (const { agent } of this.#contacts.values()) agent.destroy();
    this.#contacts.clear();
  }

  async #ask(peer: Peer, asked: Asked): Promise<Buffer> {
    const { clock } = this.#options;
    const contact = this.#contactOf(peer);
    if (clock.monotonic() < contact.quietUntil) throw new LogOutOfReach(peer.nodeId, contact.fault);
    try {
      return await this.#askAnywhere(peer, contact, asked);
    } catch (error) {
      contact.url = undefined;
      contact.quietUntil = clock.monotonic() + QUIET_MS;
      contact.fault = reasonOf(error);
      throw new LogOutOfReach(peer.nodeId, contact.fault, { cause: error });
    }
  }

  /** Where it answered before, or else everywhere at once: some of its addresses may lead nowhere from here. */
  async #askAnywhere(peer: Peer, contact: Contact, asked: Asked): Promise<Buffer> {
    const { answerMsMax = ANSWER_MS_MAX, peers } = this.#options;
    const authorization = await peers.sign({ method: 'GET', path: asked.path, to: peer.nodeId });
    const answered = new AbortController();
    const signal = AbortSignal.any([answered.signal, AbortSignal.timeout(answerMsMax)]);
    const askAt = async (url: string) => {
      const answer = await get(url, { ...asked, authorization, signal, peer, agent: contact.agent });
      contact.url = url;
      return answer;
    };
    try {
      const { url } = contact;
      // A connection that was kept may have been closed meanwhile: that says nothing about the server.
      const first = url === undefined ? undefined : await askAt(url).catch(() => undefined);
      return first ?? (await Promise.any(peer.urls.map(askAt)));
    } finally {
      answered.abort();
    }
  }

  #contactOf(peer: Peer): Contact {
    // A renewed certificate is another one to expect.
    const key = `${peer.bootId} ${peer.certificate}`;
    let contact = this.#contacts.get(key);
    if (contact) return contact;
    const [oldest, former] = [...this.#contacts][0] ?? [];
    if (oldest !== undefined && this.#contacts.size >= CONTACTS_MAX) {
      former?.agent.destroy();
      this.#contacts.delete(oldest);
    }
    contact = { agent: agentFor(peer), quietUntil: Number.NEGATIVE_INFINITY, fault: '' };
    this.#contacts.set(key, contact);
    return contact;
  }
}

function pathOf({ day, runId, epoch, part = 'log' }: LogKey): string {
  return `${PEER_LOGS_PATH}/${day}/${runId}/${epoch}.${part}`;
}

function segmentsIn(body: Buffer): LogSegment[] {
  return (JSON.parse(body.toString()) as { segments: LogSegment[] }).segments;
}

/** The certificate that the server published counts, whoever issued it and whatever names it has: servers are reached by their addresses. */
function agentFor({ certificate }: Peer): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX, maxFreeSockets: IDLE_SOCKETS_MAX });
  if (certificate === undefined) return agent;
  const overTls: Pick<Agent, 'createConnection'> = {
    createConnection(options, onConnected = () => undefined) {
      const host = options.host ?? '';
      const { port } = options;
      const socket: TLSSocket = connectTls({
        ...{ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
        ...(isIP(host) === 0 ? { servername: host } : {}),
      });
      const failed = (error: Error) => onConnected(error, socket);
      socket.once('error', failed);
      socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('it does not answer in time')));
      socket.once('secureConnect', () => {
        socket.off('error', failed).setTimeout(0);
        // Before anything is sent.
        if (socket.getPeerCertificate().fingerprint256 === certificate) return onConnected(null, socket);
        socket.destroy();
        failed(new Error('it shows another certificate than the one it published'));
      });
      return undefined;
    },
  };
  return Object.assign(agent, overTls);
}

interface Get extends Asked {
  readonly authorization: string;
  readonly signal: AbortSignal;
  readonly peer: Peer;
  readonly agent: Agent;
}

function get(url: string, { path, bytesMax, authorization, signal, peer, agent }: Get): Promise<Buffer> {
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request({
      ...{
        host: hostname.replace(/^\[|\]$/g, ''),
        port: port || (protocol === 'https:' ? 443 : 80),
        path,
        agent,
        signal,
      },
      // A name that every server answers for.
      headers: { host: 'localhost', authorization },
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      bodyOf(response, { peer, bytesMax }).then(resolve, (error: unknown) => {
        sent.destroy();
        reject(error);
      });
    });
    sent.end();
  });
}

async function bodyOf(
  response: IncomingMessage,
  { peer, bytesMax }: { peer: Peer; bytesMax: number },
): Promise<Buffer> {
  const { statusCode, headers } = response;
  if (headers[ANSWERED_BY] !== peer.bootId) throw new Error('another program answers at its address');
  if (statusCode !== 200) throw new Error(`it answered with status ${statusCode}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error('it answered more than was asked for');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Of several addresses: what a server said, rather than what kept others from being reached. */
function reasonOf(error: unknown): string {
  const errors = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const said = errors.map((each) => (each instanceof Error ? faultOf(each) : String(each)));
  return said.find((each) => each.startsWith('it ')) ?? said[0] ?? 'it has no address';
}

function faultOf(error: Error): string {
  if (error.name === 'TimeoutError' || (error.cause as Error | undefined)?.name === 'TimeoutError')
    return 'it does not answer in time';
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' ? 'nothing listens at its address' : error.message;
}
