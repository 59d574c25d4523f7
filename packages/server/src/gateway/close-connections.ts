/**
 * Lets a gateway close: requests under way are answered, for a bounded time; connections without one are cut at once.
 * Node alone waits for ever for a connection that was opened and never used, and one such client could hold up a stop.
 */
import type { FastifyInstance } from 'fastify';
import type { OpenConnections } from './listener/open-connections.ts';

const ANSWER_MS_MAX = 5_000;

export function closeConnections(app: FastifyInstance, connections: OpenConnections): void {
  app.addHook('preClose', async () => {
    connections.cutIdle();
    const late = setTimeout(() => connections.cutAll(), ANSWER_MS_MAX);
    app.server.once('close', () => clearTimeout(late));
  });
}
