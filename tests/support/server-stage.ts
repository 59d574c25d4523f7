/** Server processes on one PostgreSQL, and a receiver of their calls: what most tests of several processes begin with. */
import { expect } from 'vitest';
import { Member } from '../faults/cluster/member.ts';
import { eventually } from './eventually.ts';
import { OwnPostgres } from './own-postgres.ts';
import { fixedPort, processesOf } from './processes.ts';
import { Receiver } from './receiver.ts';
import { endServers, launchServer, type ServerProcess } from './start-server-process.ts';
import { makeTestFolder } from './test-folder.ts';

const GONE_MS_MAX = 60_000;

export class ServerStage {
  readonly folder: string;
  readonly postgres: OwnPostgres;
  readonly receiver: Receiver;

  private constructor(options: { folder: string; postgres: OwnPostgres; receiver: Receiver }) {
    this.folder = options.folder;
    this.postgres = options.postgres;
    this.receiver = options.receiver;
  }

  static async open(): Promise<ServerStage> {
    const folder = makeTestFolder();
    const [postgres, receiver] = await Promise.all([
      OwnPostgres.start(folder, { isMigrated: true }),
      new Receiver().start(),
    ]);
    return new ServerStage({ folder, postgres, receiver });
  }

  /** Resolves when it takes jobs. */
  async launch(name: string, flags: readonly string[] = []): Promise<ServerProcess> {
    return (await this.begin(name, flags)).ready();
  }

  /** Resolves when it was started. Flags come last: another --database-url counts. */
  async begin(name: string, flags: readonly string[] = []): Promise<ServerProcess> {
    return launchServer(await this.#options(name, flags));
  }

  /** One that is stopped, killed and started again; resolves when it takes jobs. */
  async member(name: string, flags: readonly string[] = []): Promise<Member> {
    const member = new Member(await this.#options(name, flags));
    await member.process.ready();
    return member;
  }

  /** Nothing outlives it. */
  async close(): Promise<void> {
    await endServers();
    await this.postgres.stop();
    await this.receiver.stop();
    await eventually(async () => expect(await processesOf(this.folder)).toEqual([]), {
      withinMs: GONE_MS_MAX,
    });
  }

  async #options(name: string, flags: readonly string[]) {
    const all = ['--database-url', this.postgres.url, ...flags];
    return { name, folder: this.folder, port: await fixedPort(), flags: all };
  }
}
