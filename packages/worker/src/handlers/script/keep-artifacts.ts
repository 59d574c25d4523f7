/** Has the files kept that a script left, and says in its log which of them are not. They may be lost; the run is not. */
import type { RunContext } from '../../handler.ts';
import { type ArtifactsFolder, PackedArtifacts } from './pack-artifacts.ts';
import { note } from './script-words.ts';

const KEEP_MS_MAX = 120_000;
/** A line of the log names so many. */
const NAMED_MAX = 20;

/** stopMsMax: how long it may last once the run has to stop, from then on. */
export async function keepArtifacts(
  context: RunContext,
  folder: ArtifactsFolder,
  { stoppedAt, stopMsMax }: { readonly stoppedAt: () => number | undefined; readonly stopMsMax: number },
): Promise<void> {
  const { artifacts, signal } = context;
  const bytesMax = artifacts?.bytesMax ?? 0;
  const packed = new PackedArtifacts({ ...folder, bytesMax: bytesMax || Number.MAX_SAFE_INTEGER });
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const endWithin = (ms: number, why: string) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isLate = true;
      late.reject(new Error(why));
    }, ms);
  };
  const stop = () =>
    endWithin(
      Math.max(0, stopMsMax - (performance.now() - (stoppedAt() ?? performance.now()))),
      'the run had to stop',
    );
  if (signal.aborted) stop();
  else endWithin(KEEP_MS_MAX, `it took more than ${KEEP_MS_MAX / 1_000} s`);
  signal.addEventListener('abort', stop);
  try {
    const parts = packed.parts();
    // Most scripts leave none.
    const first = await Promise.race([parts.next(), late.promise]);
    await parts.return(undefined);
    if (!first.done) {
      if (!artifacts || bytesMax === 0) throw new Error('nobody takes them');
      const unlessLate = async function* () {
        for await (const part of packed.parts()) {
          if (isLate) throw new Error('it took too long');
          yield part;
        }
      };
      await Promise.race([artifacts.save(unlessLate), late.promise]);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    note(context, `the files of the script could not be kept: ${why}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
  noteLeftOut(context, packed.leftOut);
}

function noteLeftOut(context: RunContext, leftOut: ReadonlyMap<string, string>): void {
  for (const [name, why] of [...leftOut].slice(0, NAMED_MAX))
    note(context, `the file ${JSON.stringify(name.slice(0, 200))} is not kept: ${why}`);
  const more = leftOut.size - NAMED_MAX;
  if (more > 0) note(context, `${more} more files are not kept`);
}
