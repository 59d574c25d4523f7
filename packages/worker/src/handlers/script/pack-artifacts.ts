/**
 * The files that a script has left in its folder for them, as one text of bytes (domain/run/run-artifacts.ts), read in parts. The script
 * may have put anything there: no link is followed, nothing but regular files of its own user is opened, and what a file holds is what
 * is read of it, not what its size says. What is not taken is named.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';
import { ARTIFACTS_MAX, type ArtifactEntry, isArtifactName, writeArtifactIndex } from '@carillon/domain';
import { RESULT_PART_BYTES_MAX } from '../../protocol/messages.ts';
import type { UserIds } from './run-folder.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Names that are looked at. */
const NAMES_MAX = 10_000;

export interface ArtifactsFolder {
  /** In a folder whose names its script cannot change. */
  readonly path: string;
  /** Who must own the files. Left out: the script had the rights of this process anyway. */
  readonly owner?: UserIds | undefined;
}

export class PackedArtifacts {
  readonly #options: ArtifactsFolder & { readonly bytesMax: number };
  /** Of the last reading. */
  #files: ArtifactEntry[] = [];
  /** Why a file is not among them, by its name. */
  #leftOut = new Map<string, string>();

  constructor(options: ArtifactsFolder & { readonly bytesMax: number }) {
    this.#options = options;
  }

  get files(): readonly ArtifactEntry[] {
    return this.#files;
  }

  get leftOut(): ReadonlyMap<string, string> {
    return this.#leftOut;
  }

  /** None where there is no file to keep. Each of the parts but the last has the same length. */
  async *parts(): AsyncGenerator<Uint8Array> {
    this.#files = [];
    this.#leftOut = new Map();
    let part = Buffer.allocUnsafe(RESULT_PART_BYTES_MAX);
    let filled = 0;
    for await (const bytes of this.#bytes()) {
      for (let taken = 0; taken < bytes.length; ) {
        const length = Math.min(part.length - filled, bytes.length - taken);
        part.set(bytes.subarray(taken, taken + length), filled);
        filled += length;
        taken += length;
        if (filled < part.length) continue;
        yield part;
        part = Buffer.allocUnsafe(RESULT_PART_BYTES_MAX);
        filled = 0;
      }
    }
    if (filled > 0) yield part.subarray(0, filled);
  }

  async *#bytes(): AsyncGenerator<Uint8Array> {
    const { path, bytesMax } = this.#options;
    await using folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(unlessGone);
    if (!folder) return;
    // Node has no openat(2): on Linux a name below this one is the same.
    const at = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : path;
    let offset = 0;
    for (const name of await this.#namesIn(at)) {
      await using file = await this.#open(at, name);
      if (!file) continue;
      const left = bytesMax - offset;
      const begin = offset;
      // A file that is larger costs no other its room. One that grows meanwhile ends where the room does.
      let isWhole = (await file.stat()).size <= left;
      while (isWhole) {
        const buffer = Buffer.allocUnsafe(RESULT_PART_BYTES_MAX);
        const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
        if (bytesRead === 0) break;
        isWhole = offset - begin + bytesRead <= left;
        if (!isWhole) break;
        offset += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
      if (isWhole) this.#files.push({ name, offset: begin, bytes: offset - begin });
      else this.#leftOut.set(name, `the files of an attempt may have ${bytesMax} bytes in all`);
    }
    if (this.#files.length > 0) yield writeArtifactIndex({ keptAtMs: Date.now(), files: this.#files });
  }

  /** Of regular files, in the order of their names, as many as are taken. */
  async #namesIn(path: string): Promise<string[]> {
    const names: string[] = [];
    let seen = 0;
    for await (const entry of await opendir(path)) {
      seen += 1;
      if (seen > NAMES_MAX) {
        this.#leftOut.set('others', `the folder has more than ${NAMES_MAX} names`);
        break;
      }
      if (!entry.isFile()) this.#leftOut.set(entry.name, 'it is not a regular file');
      else if (!isArtifactName(entry.name))
        this.#leftOut.set(entry.name, 'its name has more than 200 characters, or such as are not printed');
      else names.push(entry.name);
    }
    names.sort();
    for (const name of names.splice(ARTIFACTS_MAX))
      this.#leftOut.set(name, `an attempt may leave ${ARTIFACTS_MAX} files`);
    return names;
  }

  /** A name may be another thing by the time it is opened: a pipe does not block, and a link is not followed. */
  async #open(folder: string, name: string): Promise<FileHandle | undefined> {
    const { owner } = this.#options;
    let file: FileHandle | undefined;
    try {
      file = await open(`${folder}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const found = await file.stat();
      if (found.isFile() && (owner === undefined || found.uid === owner.uid)) return file;
      this.#leftOut.set(name, 'it is not a regular file of the user of scripts');
    } catch (error) {
      this.#leftOut.set(name, `it cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    await file?.close();
    return undefined;
  }
}

/** A script may remove its folder. */
function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
