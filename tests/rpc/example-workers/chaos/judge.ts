/** Judges by what the receiver heard, and by its clock alone; answers only what is wrong. */
import type { Attempt, Word } from './visits.ts';

const SHOWN_MAX = 10;

/** A worker, with the times when it was stopped. */
export interface Stopped {
  readonly language: string;
  readonly stops: readonly { readonly fromMs: number; readonly toMs: number }[];
}

export interface Verdict {
  readonly wrong: readonly string[];
  /** Attempts that went on from a checkpoint. */
  readonly resumed: number;
  /** Words of attempts that had been stopped, refused because the run had moved on. */
  readonly fenced: number;
}

export function judge(attempts: readonly Attempt[], visitors: readonly Stopped[]): Verdict {
  const wrong: string[] = [];
  let fenced = 0;
  const stopsOf = (attempt: Attempt) =>
    visitors.find(({ language }) => language === attempt.visitor)?.stops ?? [];
  const wasStopped = (attempt: Attempt, fromMs: number, toMs: number) =>
    stopsOf(attempt).some((stop) => stop.fromMs <= toMs && stop.toMs >= fromMs);

  for (const [runId, all] of Map.groupBy(attempts, (attempt) => attempt.runId)) {
    const say = (text: string) => wrong.push(`run ${runId}: ${text}`);
    const ordered = all.toSorted((a, b) => a.epoch - b.epoch);
    let durable = 0;
    let previous: Attempt | undefined;
    for (const attempt of ordered) {
      const { epoch, words } = attempt;
      if (previous?.epoch === epoch) say(`epoch ${epoch} was carried out twice`);
      for (const [i, word] of words.entries()) {
        if (!word.refused) continue;
        fenced += 1;
        // Between the question whether it holds the run and the word, a process can be stopped; it says one word then, and no more.
        const before = words[i - 1]?.heardAt ?? Number.NEGATIVE_INFINITY;
        if (i < words.length - 1 || !wasStopped(attempt, before, word.heardAt))
          say(`epoch ${epoch} did ${described(word)} after a newer one had begun`);
      }
      const heard = words.filter((word) => !word.refused);
      const [first] = heard;
      if (!first) continue;
      if (previous) {
        const endedAt = endOf(previous, wasStopped);
        if (first.heardAt < endedAt)
          say(
            `epoch ${epoch} (${attempt.visitor}) began ${Math.round(endedAt - first.heardAt)} ms before the end of epoch ${previous.epoch} (${previous.visitor})`,
          );
      }
      if (first.at < durable) say(`epoch ${epoch} began at ${first.at}, although ${durable} was saved`);
      for (const { word, at } of heard) {
        if (word === 'step' && at <= durable) say(`epoch ${epoch} did step ${at} again, which was saved`);
        if (word === 'saved') durable = Math.max(durable, at);
      }
      previous = attempt;
    }
  }
  const resumed = attempts.filter(({ words }) => words[0]!.at > 0 && !words[0]!.refused).length;
  return { wrong: wrong.slice(0, SHOWN_MAX), resumed, fenced };
}

/** One that was stopped ends with its last sign of life before that: it could not close its connection, and did nothing more. */
function endOf(attempt: Attempt, wasStopped: (attempt: Attempt, from: number, to: number) => boolean) {
  const last = attempt.words.findLast((word) => !word.refused)!.heardAt;
  return wasStopped(attempt, last, attempt.closedAt) ? last : attempt.closedAt;
}

function described({ word, at }: Word): string {
  return `${word} ${at}`;
}
