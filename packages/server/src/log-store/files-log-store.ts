/**
 * Logs as files: `<folder>/<day>/<run>/<epoch>.log` is the beginning of an attempt, `<epoch>.<start>.log` a later segment, and
 * `<epoch>.result` a large result, `<epoch>.artifacts` its files; in a folder that servers share, `<epoch>-<server>` stands for the epoch. Files and folders are their
 * owner's alone, and no link is followed: scripts of other users may run beside this server.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, opendir, statfs } from 'node:fs/promises';
import { OpenFolder } from '../open-folder.ts';
import { type DiskFacts, type DiskNeed, DiskReserve, type DiskReserveOptions } from './disk-reserve.ts';
import { LogBeginningGone, type LogKey, type LogRange, type LogSegment, type LogStore } from './log-store.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const PRIVATE = { mode: 0o700 };
const FILE_MODE = 0o600;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const FILE = /^([^.]+)(?:\.(\d+))?\.(log|result|artifacts)$/;
/** Folders of runs that one step of the retention removes. */
const DROPPED_MAX = 500;
const DROPPED_AT_ONCE_MAX = 4;

/** What a write may take beyond its bytes: the folders of the day and the run, and the last block of a file, which it may begin. */
const BLOCKS_BEYOND = 3;
const BLOCK_BYTES = 4 * 1_024;
const FILES_MADE = { beginning: 3, segment: 1 };

/** A day that the retention removes, and what it has not come to yet. */
interface DroppedDay {
  readonly name: string;
  readonly folder: OpenFolder;
  readonly runs: AsyncGenerator<string, void>;
}

export interface FilesLogStoreOptions {
  /** Every server has this folder, at whatever path: it is on a shared disk. */
  readonly isShared?: boolean;
  /** Left out: the disk is filled to its end. */
  readonly reserve?: Pick<DiskReserveOptions, 'reserveMb' | 'clock' | 'log'> & {
    /** That of the system; tests have smaller disks. */
    readonly statfs?: (path: string) => Promise<DiskFacts>;
  };
}

export class FilesLogStore implements LogStore {
  readonly isShared: boolean;
  readonly #root: OpenFolder;
  readonly #reserve: DiskReserve | undefined;
  /** Between the steps: a day may hold millions of runs, and its folder is read once. */
  #dropping: DroppedDay | undefined;

  private constructor(root: OpenFolder, { isShared = false, reserve }: FilesLogStoreOptions) {
    this.#root = root;
    this.isShared = isShared;
    const measure = () => (reserve?.statfs ?? statfs)(root.at('.'));
    this.#reserve = reserve && new DiskReserve({ ...reserve, folder: root.path, measure });
  }

  static async open(path: string, options: FilesLogStoreOptions = {}): Promise<FilesLogStore> {
    return new FilesLogStore(await OpenFolder.make(path, PRIVATE), options);
  }

  async write(
    log: LogKey,
    at: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const write = () => this.#write(log, at, bytes);
    await (this.#reserve?.within(needOf(at, bytes), write) ?? write());
  }

  async #write(
    log: LogKey,
    { segment, offset }: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void> {
    await using day = await this.#root.makeFolder(log.day, PRIVATE);
    await using run = await day.makeFolder(log.runId, PRIVATE);
    const begins = segment === 0 && offset === 0;
    await using file = await openFile(run, fileOf(log, segment), O_WRONLY | O_CREAT);
    if (begins) {
      await file.truncate(0);
      await this.#removeLaterSegments(run, log);
    } else if ((await file.stat()).size < offset - segment)
      throw new LogBeginningGone('the beginning of the log has been removed');
    if (process.geteuid?.() === 0) {
      const { uid, gid } = await run.owner();
      await file.chown(uid, gid);
    }
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await file.write(
        bytes,
        written,
        bytes.length - written,
        offset - segment + written,
      );
      written += bytesWritten;
    }
  }

  async #removeLaterSegments(run: OpenFolder, log: LogKey): Promise<void> {
    for (const { name } of await run.entries()) {
      const [, begin, start, part] = FILE.exec(name) ?? [];
      if (begin === nameOf(log) && part === partOf(log) && start !== undefined) await run.remove(name);
    }
  }

  async dropSegment(log: LogKey, segment: number): Promise<void> {
    await this.#inRun(log, (run) => run.remove(fileOf(log, segment)));
  }

  async segments(log: LogKey): Promise<LogSegment[]> {
    const found = await this.#inRun(log, async (run) => {
      const starts = (await run.entries()).flatMap(({ name }) => {
        const [, begin, start = '0', part] = FILE.exec(name) ?? [];
        return begin === nameOf(log) && part === partOf(log) ? [Number(start)] : [];
      });
      return Promise.all(
        starts.map(async (start) => {
          await using file = await openFile(run, fileOf(log, start), O_RDONLY);
          return { start, bytes: (await file.stat()).size };
        }),
      );
    });
    return (found ?? []).sort((a, b) => a.start - b.start);
  }

  async read(log: LogKey, { segment, from, bytesMax }: LogRange): Promise<Uint8Array> {
    const read = await this.#inRun(log, async (run) => {
      await using file = await openFile(run, fileOf(log, segment), O_RDONLY);
      const buffer = Buffer.allocUnsafe(bytesMax);
      const { bytesRead } = await file.read(buffer, 0, bytesMax, from - segment);
      return buffer.subarray(0, bytesRead);
    });
    return read ?? new Uint8Array();
  }

  async dropSome({ beforeDay }: { readonly beforeDay: string }): Promise<boolean> {
    if (this.#dropping && this.#dropping.name >= beforeDay) await this.#endDropping();
    const day = this.#dropping ?? (await this.#oldestBefore(beforeDay));
    if (day === undefined) return false;
    this.#dropping = day;
    try {
      const names = await some(day.runs, DROPPED_MAX);
      for (let at = 0; at < names.length; at += DROPPED_AT_ONCE_MAX)
        await removeAll(day.folder, names.slice(at, at + DROPPED_AT_ONCE_MAX));
      if (names.length === DROPPED_MAX) return true;
    } catch (error) {
      await this.#endDropping();
      throw error;
    }
    await this.#endDropping();
    await this.#root.remove(day.name);
    return true;
  }

  async #oldestBefore(beforeDay: string): Promise<DroppedDay | undefined> {
    const days = (await this.#root.entries()).map(({ name }) => name).filter((name) => DAY.test(name));
    const [name] = days.filter((day) => day < beforeDay).sort();
    const folder = name === undefined ? undefined : await this.#root.folder(name);
    return name === undefined || !folder ? undefined : { name, folder, runs: namesIn(folder) };
  }

  async #endDropping(): Promise<void> {
    const day = this.#dropping;
    this.#dropping = undefined;
    await day?.runs.return();
    await day?.folder.close();
  }

  async close(): Promise<void> {
    await this.#endDropping();
    await this.#root.close();
  }

  /** Undefined where the run has no folder, or no such file. */
  async #inRun<T>(
    { day: name, runId }: LogKey,
    work: (run: OpenFolder) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      await using day = await this.#root.folder(name);
      await using run = await day?.folder(runId);
      return run && (await work(run));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

function needOf(
  { segment, offset }: { readonly segment: number; readonly offset: number },
  { length }: Uint8Array,
): DiskNeed {
  const begins = segment === offset;
  return {
    bytes: length + BLOCK_BYTES * (begins ? BLOCKS_BEYOND : 1),
    files: !begins ? 0 : segment === 0 ? FILES_MADE.beginning : FILES_MADE.segment,
  };
}

function fileOf(log: LogKey, segment: number): string {
  const part = partOf(log);
  return segment === 0 ? `${nameOf(log)}.${part}` : `${nameOf(log)}.${segment}.${part}`;
}

function nameOf({ epoch, writer }: LogKey): string {
  return writer === undefined ? String(epoch) : `${epoch}-${writer}`;
}

function partOf({ part = 'log' }: LogKey): string {
  return part;
}

async function openFile(folder: OpenFolder, name: string, flags: number): Promise<FileHandle> {
  const file = await open(folder.at(name), flags | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
  const { nlink } = await file.stat();
  if ((await file.stat()).isFile() && nlink === 1) return file;
  await file.close();
  throw new Error(`${folder.path}/${name} is not a file of its own. Remove it.`);
}

/** Read as it goes: there may be very many, and some are removed meanwhile. */
async function* namesIn(folder: OpenFolder): AsyncGenerator<string, void> {
  try {
    for await (const { name } of await opendir(folder.at('.'), { bufferSize: DROPPED_MAX })) yield name;
  } catch (error) {
    // Another server that shares the folder has removed all of it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function some(names: AsyncGenerator<string, void>, countMax: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < countMax) {
    const { done, value } = await names.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

/** Settles when nothing is under way any more: the folder may be closed then. */
async function removeAll(folder: OpenFolder, names: readonly string[]): Promise<void> {
  const tried = await Promise.allSettled(names.map((name) => folder.remove(name)));
  for (const result of tried) if (result.status === 'rejected') throw result.reason;
}
