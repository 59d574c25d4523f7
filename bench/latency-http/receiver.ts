/**
 * The other side of http jobs: answers at once and notes in a ledger when each call came, for which job and which instant.
 * What it saw is the truth about starts, whatever the servers say.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StartLedger } from '../engine/start-ledger.ts';

export class Receiver {
  readonly #server = createServer((request, response) => this.#receive(request, response));
  readonly #loads: { readonly ledger: StartLedger; readonly onCall: (index: number) => void }[] = [];
  #strangers = 0;

  async start(): Promise<void> {
    // A caller that finds its idle connection closed would count a failure that is none.
    this.#server.keepAliveTimeout = 600_000;
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', 4_096, resolve));
  }

  /** Answers the address that job number `index` of the ledger has to call. */
  add(ledger: StartLedger, onCall: (index: number) => void = () => undefined): (index: number) => string {
    const { port } = this.#server.address() as AddressInfo;
    const number = this.#loads.push({ ledger, onCall }) - 1;
    return (index) => `http://127.0.0.1:${port}/${number}/${index}`;
  }

  /** To be asked when nothing is under way any more. */
  faults(): string[] {
    const faults = this.#loads.flatMap(({ ledger }) => ledger.faults());
    return this.#strangers === 0 ? faults : [...faults, `${this.#strangers} calls of no job that was posted`];
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const [, number, index] = request.url!.split('/');
    const scheduledAtMs = Date.parse(String(request.headers['carillon-scheduled-at']));
    const load = this.#loads[Number(number)];
    if (load && !Number.isNaN(scheduledAtMs)) {
      load.ledger.started(Number(index), scheduledAtMs);
      load.onCall(Number(index));
    } else this.#strangers += 1;
    request.resume();
    response.end('done');
  }
}
