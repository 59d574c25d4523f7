/** A real S3-compatible server on this machine, which can be stopped and started again on the same port with what it holds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';

export const S3_BUCKET = 'carillon-test';
/** The key that it knows. */
export const S3_KEY = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

export class S3Server {
  readonly #folder: string;
  #server: S3rver | undefined;
  #port = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server(await mkdtemp(join(tmpdir(), 'carillon-s3-')));
    await server.resume();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async resume(): Promise<void> {
    this.#server = new S3rver({
      ...{ address: '127.0.0.1', port: this.#port, silent: true, directory: this.#folder },
      ...{ vhostBuckets: false, configureBuckets: [{ name: S3_BUCKET, configs: [] }] },
    });
    ({ port: this.#port } = await this.#server.run());
  }

  /** Refuses connections, and breaks those that are open. */
  async pause(): Promise<void> {
    const closed = this.#server?.close();
    this.#server?.httpServer.closeAllConnections();
    this.#server = undefined;
    await closed;
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
