/** What every command is given: a client that connects on first use, an output, and the process around it. */
import { Carillon } from '@carillon/client';
import { type Connection, findConnection } from './connection.ts';
import type { GlobalOptions } from './flags.ts';
import type { Output } from './output/output.ts';
import { requireProof } from './require-proof.ts';

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
    this.#connection ??= findConnection({ flags: this.globals, env, cwd }).then(async (found) => {
      if (found.isOfFolder && env.CARILLON_KEY)
        this.out.warn(
          'CARILLON_KEY is not used: it is sent to the server of --url, CARILLON_URL or a context, and this one was only found in a folder, with a key of its own.',
        );
      const { url, key, keyFolder: folder } = found;
      if (key !== undefined && folder)
        await requireProof(this.clientOf({ url, key: undefined }), { url, key, folder });
      return found;
    });
    return this.#connection;
  }

  /** The server that the command asked; undefined where none is known. */
  async askedServer(): Promise<Connection | undefined> {
    return this.#connection?.catch(() => undefined);
  }

  /** Of the context in use, for commands where no --namespace was given. */
  async defaultNamespace(): Promise<string | undefined> {
    if (this.globals.allNamespaces) return undefined;
    // Without a server the command itself says so.
    return (await this.connection().catch(() => undefined))?.namespace;
  }

  /** Before a password is asked for: whoever types it sees where it goes. */
  announceServer(url: string): void {
    this.out.note(`Server: ${url}`);
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
