/**
 * The folder of fetched scripts, each under its digest: never more than a bounded number of bytes and files, of which those that no run has
 * used for longest go first (hazard 48). A run only ever reads one whole, and starts from a copy of its own, so a script may be removed
 * at any moment, also by another process that shares the folder: it is fetched again.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface KeptScriptsLimits {
  readonly bytesMax: number;
  /** Small ones take more of the disk, and of the time to go through the folder, than their bytes say. */
  readonly countMax: number;
}

const KEPT_LIMITS: KeptScriptsLimits = { bytesMax: 256 * 1024 * 1024, countMax: 1_000 };
/** Others in the folder are none of ours. While one is written, something follows its digest. */
const NAME = /^[0-9a-f]{64}(\.[0-9a-f-]{36})?$/;
/** Nothing is written for so long: the process that began has ended. */
const UNFINISHED_MS_MAX = 3_600_000;

interface Found {
  readonly path: string;
  readonly isFinished: boolean;
  readonly size: number;
  readonly usedAtMs: number;
}

export class KeptScripts {
  readonly #folder: string;
  readonly #limits: KeptScriptsLimits;
  readonly #underWay = new Set<string>();
  #pass: Promise<void> = Promise.resolve();
  #nextPass: Promise<void> | undefined;

  constructor(folder: string, limits: KeptScriptsLimits = KEPT_LIMITS) {
    this.#folder = folder;
    this.#limits = limits;
  }

  async read(sha256: string): Promise<Buffer | undefined> {
    const path = join(this.#folder, sha256);
    const bytes = await readFile(path).catch(() => undefined);
    const now = new Date();
    // It may have been removed since; what was read is good.
    if (bytes) await utimes(path, now, now).catch(() => undefined);
    return bytes;
  }

  /** Runs that fetched the same at the same time keep it once. */
  async keep(sha256: string, bytes: Uint8Array): Promise<void> {
    if (this.#underWay.has(sha256)) return;
    this.#underWay.add(sha256);
    try {
      await this.#write(sha256, bytes);
    } finally {
      this.#underWay.delete(sha256);
    }
  }

  async #write(sha256: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const part = join(this.#folder, `${sha256}.${randomUUID()}`);
    try {
      await writeFile(part, bytes, { mode: 0o600 });
      // Before it gets its name, and counted already: the rest makes room for it.
      await this.#makeRoom();
      await rename(part, join(this.#folder, sha256));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  /** One pass at a time. Who comes during one waits for the next, together with all others who do. */
  #makeRoom(): Promise<void> {
    this.#nextPass ??= this.#pass.then(() => {
      this.#pass = this.#nextPass!;
      this.#nextPass = undefined;
      return this.#evict();
    });
    return this.#nextPass;
  }

  async #evict(): Promise<void> {
    const found = await this.#list();
    let [bytes, count] = [0, found.length];
    for (const { size } of found) bytes += size;
    const unfinishedSinceMs = Date.now() - UNFINISHED_MS_MAX;
    for (const { path, isFinished, size, usedAtMs } of found) {
      const isTooMuch = bytes > this.#limits.bytesMax || count > this.#limits.countMax;
      // Somebody is about to give it its name.
      if (isFinished ? !isTooMuch : usedAtMs > unfinishedSinceMs) continue;
      if (!(await isRemoved(path))) continue;
      bytes -= size;
      count -= 1;
    }
  }

  async #list(): Promise<Found[]> {
    const found: Found[] = [];
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (!NAME.test(name)) continue;
      const path = join(this.#folder, name);
      // Another process may have removed or renamed it since.
      const file = await lstat(path).catch(() => undefined);
      if (file?.isFile())
        found.push({ path, isFinished: !name.includes('.'), size: file.size, usedAtMs: file.mtimeMs });
    }
    return found.sort((a, b) => a.usedAtMs - b.usedAtMs);
  }
}

async function isRemoved(path: string): Promise<boolean> {
  return rm(path, { force: true }).then(
    () => true,
    () => false,
  );
}
