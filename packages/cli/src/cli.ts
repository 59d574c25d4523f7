/** What every command is given: a client that connects on first use, an output, and the process around it. */
import { Carillon } from '@carillon/client';
import { type Connection, findConnection } from './connection.ts';
import type { GlobalOptions } from './flags.ts';
import type { Output } from './output/output.ts';

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export class Cli {
  readonly out: Output;
  readonly world: World;
  readonly globals: GlobalOptions;
  #connection: Promise<Connection> | undefined;
  #interrupted: AbortController | undefined;

  constructor(options: { out: Output; world: World; globals: GlobalOptions }) {
    this.out = options.out;
    this.world = options.world;
    this.globals = options.globals;
  }

  connection(): Promise<Connection> {
    const { env, cwd } = this.world;
    this.#connection ??= findConnection({ flags: this.globals, env, cwd });
    return this.#connection;
  }

  async client(): Promise<Carillon> {
    return this.clientOf(await this.connection());
  }

  clientOf({ url, key }: { url: string; key: string | undefined }): Carillon {
    return new Carillon({ url, key, userAgent: 'carillon-cli' });
  }

  /** Aborts at the first Ctrl-C, for work that takes long or never ends; the second one ends the process as usual. */
  untilInterrupted(): AbortSignal {
    if (!this.#interrupted) {
      const interrupted = new AbortController();
      const onSignal = () => interrupted.abort();
      process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
      this.#interrupted = interrupted;
    }
    return this.#interrupted.signal;
  }

  get wasInterrupted(): boolean {
    return this.#interrupted?.signal.aborted === true;
  }
}
