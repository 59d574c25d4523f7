/** Reasons in sentences, as `jobs why` and `runs why` print them: what is the matter, who holds it, what can be done. */
import type { Why } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../errors.ts';

export function showWhy({ out }: Cli, why: Why): ExitCode {
  out.record(why, [
    ['state', why.state],
    ...why.reasons.flatMap((reason, i): [string, string | undefined][] => [
      [i === 0 ? 'why' : 'also', reason.text],
      ['since', reason.since_at === null ? undefined : out.time(reason.since_at)],
      ['held by', reason.held_by.map(holderText).join('; ') || undefined],
      ['to do', reason.fix ?? undefined],
    ]),
    ['position', why.position === null ? undefined : String(why.position)],
    ['starts', why.estimated_start_at === null ? undefined : `about ${out.time(why.estimated_start_at)}`],
  ]);
  return EXIT.ok;
}

function holderText({ run_id, worker_id }: Why['reasons'][number]['held_by'][number]): string {
  return worker_id === null ? `run ${run_id}` : `run ${run_id} on ${worker_id}`;
}
