/** The files that a run left: as a list, or one of them as it is. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { Artifact } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT, UsageError } from '../errors.ts';
import type { Column } from '../output/table.ts';

const COLUMNS: readonly Column<Artifact>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'BYTES', value: ({ bytes }) => String(bytes) },
  { header: 'ATTEMPT', value: ({ attempt }) => String(attempt) },
  { header: 'CREATED', value: ({ created_at: at }) => at },
];

export async function showArtifacts(
  cli: Cli,
  { id, name }: { readonly id: string; readonly name: string | undefined },
  { attempt, save }: { readonly attempt?: number | undefined; readonly save?: string | undefined },
): Promise<number> {
  const given = save === undefined ? attempt && '--attempt' : '--save';
  if (name === undefined && given) throw new UsageError(`${given} is for one file.`, 'Name the file.');
  const client = await cli.client();
  if (name === undefined) {
    cli.out.list(await client.runs.artifacts(id), COLUMNS, { empty: 'No files.' });
    return EXIT.ok;
  }
  const file = Readable.fromWeb((await client.runs.artifact(id, name, { attempt })) as ReadableStream);
  if (save === undefined) await cli.out.bytes(file);
  // Made only now: a file that is not there leaves none behind.
  else await pipeline(file, createWriteStream(save, { flags: 'wx' }));
  return EXIT.ok;
}
