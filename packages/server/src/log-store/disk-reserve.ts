/**
 * The part of a disk that logs leave free. Scripts and handlers decide how much is written, and the database may lie on the same disk:
 * it must not end because a run was chatty. What would take from the reserve is refused before anything of it is written, and the
 * operator is told, now and then while it lasts and once when it is over.
 */
import type { StatsFs } from 'node:fs';
import { type Clock, LastingCondition, type Log } from '@carillon/foundation';
import { LogDiskShort } from './log-store.ts';

/** What is asked of a file system. */
export type DiskFacts = Pick<StatsFs, 'bsize' | 'blocks' | 'bavail' | 'files' | 'ffree'>;

export interface DiskReserveOptions {
  /** For the operator: what lies on the disk. */
  readonly folder: string;
  readonly measure: () => Promise<DiskFacts>;
  /** Left out: 1 GiB, or a quarter of a disk that is smaller than 4 GiB. 0: nothing is refused. */
  readonly reserveMb?: number | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** What is about to be written, at most. */
export interface DiskNeed {
  readonly bytes: number;
  /** Files and folders that it makes. */
  readonly files: number;
}

const MIB = 1_024 * 1_024;
/** As much as PostgreSQL may keep of its journal (max_wal_size), which grows after logs have taken the rest. */
const RESERVE_BYTES_MAX = 1_024 * MIB;
/** Where there are no files left to make, PostgreSQL ends as well: as many as common disks have in the bytes above. */
const RESERVE_FILES_MAX = RESERVE_BYTES_MAX / (16 * 1_024);
const RESERVE_SHARE = 0.25;
/** Of the reserve, above it: so much is free before anything is kept again, or it would be said to be over at every file that is removed. */
const OVER_SHARE = 0.125;
/** In between, what is written here is counted. */
const MEASURED_MS = 1_000;

export class DiskReserve {
  readonly #options: DiskReserveOptions;
  readonly #short: LastingCondition;
  #isShort = false;
  #measuring: Promise<void> | undefined;
  #measuredAt = Number.NEGATIVE_INFINITY;
  /** What may be written before the next measurement. */
  #left: DiskNeed = { bytes: 0, files: 0 };
  /** What is being written: a measurement may not see it yet. */
  #underway: DiskNeed = { bytes: 0, files: 0 };
  #reserve: DiskNeed = { bytes: 0, files: 0 };

  constructor(options: DiskReserveOptions) {
    this.#options = options;
    this.#short = new LastingCondition(options);
  }

  /** Fails with LogDiskShort, and writes nothing, where that would take from the reserve. */
  async within<T>(need: DiskNeed, write: () => Promise<T>): Promise<T> {
    if (this.#options.reserveMb === 0) return write();
    await this.#measure();
    if (this.#isShort || !fits(need, this.#left)) {
      this.#isShort = true;
      this.#tellShort(need);
      throw new LogDiskShort('the disk for logs and results is nearly full');
    }
    this.#left = sum(this.#left, need, -1);
    this.#underway = sum(this.#underway, need, 1);
    try {
      return await write();
    } finally {
      this.#underway = sum(this.#underway, need, -1);
    }
  }

  /** One measurement for all who ask meanwhile. */
  async #measure(): Promise<void> {
    if (this.#options.clock.monotonic() - this.#measuredAt < MEASURED_MS) return;
    this.#measuring ??= this.#measureNow().finally(() => {
      this.#measuring = undefined;
    });
    await this.#measuring;
  }

  async #measureNow(): Promise<void> {
    // What cannot be measured is not refused: the disk itself says when it is full.
    const facts = await this.#options.measure().catch(() => NOTHING_TOLD);
    const { reserveMb } = this.#options;
    const { bsize, blocks, bavail, files, ffree } = facts;
    const bytesDefault = Math.min(RESERVE_BYTES_MAX, Math.ceil(bsize * blocks * RESERVE_SHARE));
    this.#reserve = {
      bytes: reserveMb === undefined ? bytesDefault : reserveMb * MIB,
      files: Math.min(RESERVE_FILES_MAX, Math.ceil(files * RESERVE_SHARE)),
    };
    // Some file systems have no sum of blocks or of files to tell.
    const free = {
      bytes: blocks > 0 ? bavail * bsize : Number.POSITIVE_INFINITY,
      files: files > 0 ? ffree : Number.POSITIVE_INFINITY,
    };
    this.#left = sum(sum(free, this.#reserve, -1), this.#underway, -1);
    this.#measuredAt = this.#options.clock.monotonic();
    if (!this.#isShort || !fits(this.#margin(), this.#left)) return;
    this.#isShort = false;
    this.#tellOver();
  }

  #margin(): DiskNeed {
    return { bytes: this.#reserve.bytes * OVER_SHARE, files: this.#reserve.files * OVER_SHARE };
  }

  #tellShort(need: DiskNeed): void {
    const { log, folder } = this.#options;
    if (!this.#short.notice()) return;
    const free = sum(this.#left, this.#reserve, 1);
    const inMib = (bytes: number) => Math.max(0, Math.round(bytes / MIB));
    const what =
      this.#left.bytes < Math.max(need.bytes, this.#margin().bytes)
        ? `has ${inMib(free.bytes)} MiB free, and ${inMib(this.#reserve.bytes)} MiB`
        : `can have ${free.files} files more, and ${this.#reserve.files}`;
    log.warn(
      { folder },
      `the disk of ${folder} ${what} are left to the database and others: the output and large results of runs are not kept; they go on without. Make room on that disk, lower logs.retention_days, or keep logs elsewhere (logs.folder, logs.s3.bucket)`,
    );
  }

  #tellOver(): void {
    const lastedMs = this.#short.end();
    if (lastedMs !== undefined)
      this.#options.log.info(
        { lastedMs },
        'the disk has room again: the output and large results of runs are kept',
      );
  }
}

function fits(need: DiskNeed, left: DiskNeed): boolean {
  return need.bytes <= left.bytes && need.files <= left.files;
}

const NOTHING_TOLD: DiskFacts = { bsize: 0, blocks: 0, bavail: 0, files: 0, ffree: 0 };

function sum(one: DiskNeed, other: DiskNeed, sign: 1 | -1): DiskNeed {
  return { bytes: one.bytes + sign * other.bytes, files: one.files + sign * other.files };
}
