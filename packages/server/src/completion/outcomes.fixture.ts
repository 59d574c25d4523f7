/** Outcomes on their way into a database of their own, in which somebody else is at work too. */
import type { RunOutcome } from '@carillon/domain';
import { type Clock, silentLog, systemRandom } from '@carillon/foundation';
import { ReportSender } from '@carillon/worker';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { StorageWorld } from '../storage/conformance/storage-world.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { passingFault } from '../worker-home/storage-home.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';

export class OutcomesStage {
  readonly storage: PostgresStorage;
  readonly world: StorageWorld;
  readonly somebody: pg.Client;
  readonly sender: ReportSender;
  /** How often something was to be recorded. */
  tries = 0;
  readonly #database: TestDatabase;

  private constructor(database: TestDatabase, clock: Clock) {
    this.#database = database;
    this.storage = openTestStorage(database.url);
    this.world = new StorageWorld(this.storage);
    this.somebody = new pg.Client({ connectionString: database.url });
    const common = { clock, random: systemRandom, log: silentLog };
    const recorder = new OutcomeRecorder({
      ...{ ...common, leases: this.storage.leases, signals: new MemorySignalBus(common) },
      retriesPerSecond: 1_000_000,
    });
    this.sender = new ReportSender({
      ...common,
      reports: {
        ended: (reports) => {
          this.tries += 1;
          return recorder.ended(reports);
        },
        faultOf: passingFault,
      },
      onAnswered: () => {},
    });
  }

  static async open(postgresUrl: string, clock: Clock): Promise<OutcomesStage> {
    const stage = new OutcomesStage(await createTestDatabase(postgresUrl), clock);
    await stage.somebody.connect();
    await stage.world.prepare();
    return stage;
  }

  send(run: Parameters<ReportSender['send']>[0]['run'], outcome: RunOutcome): void {
    this.sender.send({ run, startedAtMs: BASE_MS, endedAtMs: BASE_MS, outcome });
  }

  async close(): Promise<void> {
    await this.somebody.end();
    await this.storage.close();
    await this.#database.drop();
  }
}
