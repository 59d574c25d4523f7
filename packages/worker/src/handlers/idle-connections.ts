/**
 * The connections of the http handler, used again for a while, and a bound on those that no run waits for: whoever is called decides
 * how long they stay open, and each is a descriptor of the process, which it also needs to reach its database (hazard 48). Runs
 * under way are never counted, made to wait or cut off.
 */
import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

export interface IdleLimits {
  /** How long one may stay unused. */
  readonly idleMs: number;
  /** Of one host and port. */
  readonly perHostMax: number;
  /** Of all hosts together. */
  readonly totalMax: number;
}

const IDLE_LIMITS: IdleLimits = { idleMs: 5_000, perHostMax: 2, totalMax: 64 };

export class IdleConnections {
  readonly agents: Readonly<Record<string, HttpAgent>>;
  readonly #totalMax: number;
  /** In the order in which they became idle, with what closes each. */
  readonly #idle = new Map<Duplex, () => void>();

  constructor({ idleMs, perHostMax, totalMax }: IdleLimits = IDLE_LIMITS) {
    const options = {
      keepAlive: true,
      // Only idle ones are closed by it, earlier where the receiver says that it closes earlier.
      timeout: idleMs,
      maxFreeSockets: perHostMax,
      // Node passes over closed ones at that end only.
      scheduling: 'fifo',
    } as const;
    this.#totalMax = totalMax;
    this.agents = {
      'http:': this.#watch(new HttpAgent(options)),
      'https:': this.#watch(new HttpsAgent(options)),
    };
  }

  /** A run has its answer. A receiver that answered before it had read the request may never read it: such a connection is never free. */
  leave(request: ClientRequest): void {
    // Destroyed says that the agent has taken it back or closed it; by now another run may use it.
    if (!request.destroyed && request.socket) this.#add(request.socket);
  }

  #watch(agent: HttpAgent): HttpAgent {
    const keep: (socket: Duplex) => unknown = agent.keepSocketAlive.bind(agent);
    const reuse = agent.reuseSocket.bind(agent);
    return Object.assign(agent, {
      keepSocketAlive: (socket: Duplex) => {
        const isKept = keep(socket) !== false;
        if (isKept) this.#add(socket);
        return isKept;
      },
      reuseSocket: (socket: Duplex, request: ClientRequest) => {
        this.#remove(socket);
        reuse(socket, request);
      },
    });
  }

  #add(socket: Duplex): void {
    if (socket.destroyed) return;
    this.#remove(socket);
    const close = () => {
      this.#remove(socket);
      socket.destroy();
    };
    socket.once('close', close).once('timeout', close);
    this.#idle.set(socket, close);
    for (const closeOldest of this.#idle.values()) {
      if (this.#idle.size <= this.#totalMax) break;
      closeOldest();
    }
  }

  #remove(socket: Duplex): void {
    const close = this.#idle.get(socket);
    if (!close) return;
    socket.off('close', close).off('timeout', close);
    this.#idle.delete(socket);
  }
}
