/**
 * Where other servers of the installation read logs that are in the folder of this one. They prove themselves with a signature; no key of
 * a person counts here, and nothing but parts of logs is answered. Reads this server's own store alone: servers never ask in a circle.
 */
import { Refusal, type RunId } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type LogKey, LogStoreUnavailable } from '../log-store/log-store.ts';
import { ANSWERED_BY, PEER_LOGS_PATH } from '../peers/peer-logs.ts';
import type { Peers } from '../peers/peers.ts';
import type { LogSource } from '../run-logs/run-logs.ts';

export interface PeerLogsEndpointOptions {
  readonly peers: Peers;
  readonly store: LogSource;
  /** Counts those that are refused by their address. */
  readonly admitAnonymous: (request: FastifyRequest) => void;
}

const READ_BYTES_MAX = 256 * 1_024;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const RUN_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PART = /^(\d{1,10})\.(log|result|artifacts)$/;
const NUMBER = /^\d{1,15}$/;

export function peerLogsEndpoint(
  app: FastifyInstance,
  { peers, store, admitAnonymous }: PeerLogsEndpointOptions,
): void {
  const recognise = async (request: FastifyRequest) => {
    const { method, url = '' } = request.raw;
    if (await peers.isFromPeer({ method: method ?? '', path: url }, request.headers.authorization)) return;
    admitAnonymous(request);
    throw new Refusal('unauthorized', 'Only servers of this installation may ask here.');
  };
  app.register(
    (scope, _options, done) => {
      scope.addHook('onRequest', async (request, reply) => {
        reply.headers({ 'cache-control': 'no-store', [ANSWERED_BY]: peers.bootId });
        await recognise(request);
      });
      scope.get('/:day/:runId/:epoch', async (request, reply) => {
        const segments = await store.segments(keyOf(request.params)).catch(refuse);
        return reply.send({ segments });
      });
      scope.get('/:day/:runId/:epoch/:segment', async (request, reply) => {
        const { segment, from, bytes } = {
          ...(request.params as object),
          ...(request.query as object),
        } as Named;
        const range = {
          ...{ segment: numberIn(segment), from: numberIn(from) },
          bytesMax: Math.min(numberIn(bytes), READ_BYTES_MAX),
        };
        const read = await store.read(keyOf(request.params), range).catch(refuse);
        return reply.type('application/octet-stream').send(Buffer.from(read));
      });
      done();
    },
    { prefix: PEER_LOGS_PATH },
  );
}

type Named = Readonly<Record<string, string | undefined>>;

function keyOf(params: unknown): LogKey {
  const { day = '', runId = '', epoch: name = '' } = params as Named;
  const [, epoch, part] = PART.exec(name) ?? [];
  if (!DAY.test(day) || !RUN_ID.test(runId) || epoch === undefined)
    throw new Refusal('route_not_found', 'There is no such log.');
  return {
    day,
    runId: runId as RunId,
    epoch: Number(epoch),
    ...(part === 'result' || part === 'artifacts' ? { part } : {}),
  };
}

function numberIn(text: string | undefined): number {
  if (!NUMBER.test(text ?? '')) throw new Refusal('route_not_found', 'There is no such part of a log.');
  return Number(text);
}

function refuse(error: unknown): never {
  if (!(error instanceof LogStoreUnavailable)) throw error;
  throw new Refusal('logs_unavailable', 'The store of logs cannot be read now.', { cause: error });
}
