/**
 * Lets a gateway close: requests under way are answered, for a bounded time; connections without one are cut at once.
 * Node alone waits for ever for a connection that was opened and never used, and one such client could hold up a stop.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const ANSWER_MS_MAX = 5_000;

export function closeConnections(app: FastifyInstance): void {
  const requestsOf = new Map<Socket, number>();
  let closing = false;
  const cutIfIdle = (socket: Socket) => {
    if (closing && requestsOf.get(socket) === 0) socket.destroy();
  };
  app.server.on('connection', (socket: Socket) => {
    requestsOf.set(socket, 0);
    socket.once('close', () => requestsOf.delete(socket));
    cutIfIdle(socket);
  });
  app.server.on('request', ({ socket }, response) => {
    requestsOf.set(socket, (requestsOf.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (!requestsOf.has(socket)) return;
      requestsOf.set(socket, requestsOf.get(socket)! - 1);
      cutIfIdle(socket);
    });
  });
  app.addHook('preClose', async () => {
    closing = true;
    for (const socket of requestsOf.keys()) cutIfIdle(socket);
    const late = setTimeout(() => app.server.closeAllConnections(), ANSWER_MS_MAX);
    app.server.once('close', () => clearTimeout(late));
  });
}
