/**
 * The client of a Carillon server, for Node and browsers: needs nothing but fetch. Names of fields are those of the REST
 * interface, so its documentation is also that of this client.
 */

import type { JobStatusReport, LiveUpdate } from './generated/types.ts';
import {
  Audit,
  Keys,
  Namespaces,
  OwnSettings,
  Secrets,
  Session,
  Sessions,
  Users,
} from './resources/accounts.ts';
import { Events } from './resources/events.ts';
import { Jobs, Schedules } from './resources/jobs.ts';
import { Live, type LiveOptions } from './resources/live.ts';
import { DeadLetters, Handlers, Runs, Search, Workers } from './resources/runs.ts';
import { Stats } from './resources/stats.ts';
import { watchJob } from './watch-job.ts';
import { type CallOptions, Transport } from './wire/transport.ts';
import { userAgentHeader } from './wire/user-agent.ts';

export interface CarillonOptions {
  /** Such as http://127.0.0.1:7420. */
  readonly url: string;
  readonly key?: string | undefined;
  /** For one try of one call; 30 s unless said otherwise. */
  readonly timeoutMs?: number | undefined;
  /** How often a call that may safely be repeated is tried again; 4 unless said otherwise. */
  readonly retriesMax?: number | undefined;
  /** Names your program to the server, such as `billing/2.1`, before the name of this client. Browsers send their own. */
  readonly userAgent?: string | undefined;
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Instead of the global one, for proxies and tests. */
  readonly fetch?: typeof fetch | undefined;
}

const TIMEOUT_MS = 30_000;
const RETRIES_MAX = 4;

export class Carillon {
  readonly jobs: Jobs;
  readonly runs: Runs;
  readonly deadLetters: DeadLetters;
  readonly schedules: Schedules;
  readonly stats: Stats;
  readonly workers: Workers;
  readonly handlers: Handlers;
  readonly search: Search;
  readonly events: Events;
  readonly keys: Keys;
  readonly users: Users;
  readonly namespaces: Namespaces;
  readonly secrets: Secrets;
  readonly audit: Audit;
  /** Views and preferences of whoever is signed in. */
  readonly me: OwnSettings;
  readonly session: Session;
  readonly sessions: Sessions;
  readonly #transport: Transport;

  constructor(options: CarillonOptions) {
    const transport = new Transport({
      url: options.url,
      key: options.key,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      retriesMax: options.retriesMax ?? RETRIES_MAX,
      headers: { ...userAgentHeader(options.userAgent), ...options.headers },
      // Called at the time of the request: what replaces the global one later counts too.
      fetch: options.fetch ?? ((...request) => fetch(...request)),
    });
    this.#transport = transport;
    this.jobs = new Jobs(transport);
    this.runs = new Runs(transport);
    this.deadLetters = new DeadLetters(transport);
    this.schedules = new Schedules(transport);
    this.stats = new Stats(transport);
    this.workers = new Workers(transport);
    this.handlers = new Handlers(transport);
    this.search = new Search(transport);
    this.events = new Events(transport);
    this.keys = new Keys(transport);
    this.users = new Users(transport);
    this.namespaces = new Namespaces(transport);
    this.secrets = new Secrets(transport);
    this.audit = new Audit(transport);
    this.me = new OwnSettings(transport);
    this.session = new Session(transport);
    this.sessions = new Sessions(transport);
  }

  /** Whether the server can run jobs, and if not, why. Needs no key. */
  async ready(options: CallOptions = {}): Promise<{ ready: boolean; reasons: readonly string[] }> {
    const { status, body } = await this.#transport.answer<{ reasons?: readonly string[] }>({
      ...options,
      method: 'GET',
      prefix: '/health',
      path: '/ready',
      alsoFine: [503],
    });
    return { ready: status === 200, reasons: body.reasons ?? [] };
  }

  /**
   * What shows that the server knows the admin key of its data folder: the HMAC-SHA256, under that key and in base64url, of
   * `carillon key proof`, the address in the `server.lock` of the folder and the nonce (32 random bytes in base64url), each on a
   * line. Needs no key.
   */
  async keyProof(nonce: string, options: CallOptions = {}): Promise<string> {
    const query = { nonce };
    const { body } = await this.#transport.answer<{ proof?: string }>({
      ...{ ...options, method: 'GET', prefix: '/health', path: '/proof', query },
    });
    return body.proof ?? '';
  }

  /**
   * What changed, at most once a second: for pages that show jobs and runs. A stream that breaks goes on where it was, or says
   * `refetch`. Goes on until the signal aborts or the loop is left.
   */
  live(options: LiveOptions = {}): AsyncGenerator<LiveUpdate, void, undefined> {
    return new Live(this.#transport).stream(options);
  }

  /** Its status now and each time it changes, until the job is completed, failed or cancelled. */
  watch(jobId: string, options: CallOptions = {}): AsyncGenerator<JobStatusReport, void, undefined> {
    return watchJob(this, jobId, options);
  }
}
