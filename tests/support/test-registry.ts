/** A package registry on this machine, with packages that a test makes: for what is downloaded, and for archives that are not what they should be. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export interface TestPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

interface Stored {
  readonly manifest: Readonly<Record<string, unknown>> & { readonly name: string; readonly version: string };
  archive: Buffer;
}

const integrityOf = (archive: Buffer) => `sha512-${createHash('sha512').update(archive).digest('base64')}`;

export class TestRegistry {
  /** Names of the archives that were fetched. */
  readonly fetched: string[] = [];
  readonly #packages = new Map<string, Stored>();
  readonly #server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const isArchive = path.endsWith('.tgz');
    const found = this.#packages.get(path.replace(/\.tgz$/, ''));
    if (found === undefined) response.writeHead(404).end('{}');
    else if (isArchive) {
      this.fetched.push(found.manifest.name);
      response.end(found.archive);
    } else response.end(JSON.stringify(this.#document(found)));
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async publish(
    name: string,
    files: Readonly<Record<string, string>>,
    facts: Readonly<Record<string, unknown>> = {},
  ): Promise<TestPackage> {
    const manifest = { name, version: '1.0.0', ...facts };
    const archive = await archiveOf({ 'package.json': JSON.stringify(manifest), ...files });
    this.#packages.set(name, { manifest, archive });
    return { name, version: manifest.version, integrity: integrityOf(archive) };
  }

  /** Like a registry that an attacker has: the archive is another one, and everything it says about it is consistent. */
  #document({ manifest, archive }: Stored): object {
    const { name, version } = manifest;
    const dist = { tarball: `${this.url}${name}.tgz`, integrity: integrityOf(archive) };
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
  }
}

async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-archive-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      const target = join(folder, 'package', path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text, { mode: 0o755 });
    }
    await promisify(execFile)('tar', ['-czf', 'archive.tgz', 'package'], { cwd: folder });
    return await readFile(join(folder, 'archive.tgz'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
