/** A stream to the home of workers on which any bytes can be sent, as a worker that lies or is broken may do. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { fromBinary } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';

const HEAD_BYTES = 5;
const PATH = '/carillon.worker.v1.WorkerService/Session';

export class LyingStream {
  readonly #session: ClientHttp2Session;
  readonly #request: ClientHttp2Stream;
  #bytes = Buffer.alloc(0);
  /** What the server answered it with. */
  status = { http: 0, grpc: '', message: '' };
  readonly #ended = Promise.withResolvers<void>();

  constructor(address: string, key: string) {
    this.#session = connect(address);
    this.#session.on('error', () => this.#ended.resolve());
    this.#request = this.#session.request({
      ...{ ':method': 'POST', ':path': PATH, te: 'trailers', 'content-type': 'application/grpc' },
      authorization: `Bearer ${key}`,
    });
    const hear = (headers: Record<string, unknown>) => {
      this.status = {
        http: Number(headers[':status'] ?? this.status.http),
        grpc: String(headers['grpc-status'] ?? this.status.grpc),
        message: String(headers['grpc-message'] ?? this.status.message),
      };
    };
    this.#request.on('response', hear);
    this.#request.on('trailers', hear);
    this.#request.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
    });
    this.#request.on('end', () => this.#ended.resolve());
    // The server may be gone while something is still written.
    this.#request.on('error', () => this.#ended.resolve());
    this.#request.on('close', () => this.#ended.resolve());
  }

  /** As one message of gRPC. */
  say(message: Uint8Array): void {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(message.length, 1);
    this.raw(Buffer.concat([head, message]));
  }

  raw(bytes: Uint8Array): void {
    if (!this.#request.writableEnded && !this.#request.destroyed) this.#request.write(bytes);
  }

  /** It has nothing more to say. */
  end(): void {
    this.#request.end();
  }

  get heard(): P.SessionResponse[] {
    const heard: P.SessionResponse[] = [];
    for (let at = 0; at + HEAD_BYTES <= this.#bytes.length; ) {
      const end = at + HEAD_BYTES + this.#bytes.readUInt32BE(at + 1);
      if (end > this.#bytes.length) break;
      heard.push(fromBinary(P.SessionResponseSchema, this.#bytes.subarray(at + HEAD_BYTES, end)));
      at = end;
    }
    return heard;
  }

  /** The server has ended it. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  close(): void {
    this.#request.close();
    this.#session.close();
  }
}
