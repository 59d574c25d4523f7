/** The bench's side of member-process.ts: a server that is started, given jobs, and restarted. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { forkApart } from '../ask-process.ts';
import type { MemberNews, MemberOrder } from './member-process.ts';

const memberModule = new URL('./member-process.ts', import.meta.url);

type MemberOptions = {
  readonly databaseUrl: string;
  readonly slots: number;
  readonly onStarts: (starts: readonly number[]) => void;
};

export class Member {
  readonly #options: MemberOptions;
  readonly #creating = new Map<number, PromiseWithResolvers<void>>();
  #child: ChildProcess | undefined;
  /** Whether it takes jobs: a load balancer knows, and sends elsewhere. */
  isUp = false;

  constructor(options: MemberOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { databaseUrl, slots } = this.#options;
    const child = forkApart(memberModule);
    this.#child = child;
    const ready = Promise.withResolvers<void>();
    child.on('message', (news) => this.#hear(news as MemberNews, ready.resolve));
    child.once('exit', (code) => {
      const error = new Error(`a server ended with ${code}`);
      ready.reject(error);
      for (const each of this.#creating.values()) each.reject(error);
      this.#creating.clear();
    });
    this.#send({ do: 'start', databaseUrl, slots });
    await ready.promise;
    this.isUp = true;
  }

  /** Durable when it resolves. */
  async create(first: number, jobs: number): Promise<void> {
    const created = Promise.withResolvers<void>();
    this.#creating.set(first, created);
    this.#send({ do: 'create', first, jobs });
    await created.promise;
  }

  async stop(): Promise<void> {
    this.isUp = false;
    // What it was given before is answered first.
    await Promise.allSettled([...this.#creating.values()].map(({ promise }) => promise));
    const child = this.#child!;
    const exited = once(child, 'exit');
    this.#send({ do: 'stop' });
    const [code] = await exited;
    if (code !== 0) throw new Error(`a server that was stopped ended with ${code}`);
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  #hear(news: MemberNews, ready: () => void): void {
    if (news.is === 'ready') ready();
    else if (news.is === 'started') this.#options.onStarts(news.starts);
    else {
      const created = this.#creating.get(news.first);
      this.#creating.delete(news.first);
      if (news.problem === undefined) created?.resolve();
      else created?.reject(new Error(news.problem));
    }
  }

  #send(order: MemberOrder): void {
    this.#child!.send(order);
  }
}
