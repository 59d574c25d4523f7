/** Many jobs over REST, in batches: for what is made before it is measured. */
import { inBatches } from '../in-batches.ts';

const batchSize = 500;

/** Throws unless every job was accepted. */
export async function postBatches(options: {
  address: string;
  headers: Readonly<Record<string, string>>;
  jobs: number;
  jobOf: (index: number) => object;
}): Promise<void> {
  const { address, headers, jobs, jobOf } = options;
  await inBatches({
    items: Array.from({ length: jobs }, (_, index) => index),
    size: batchSize,
    lanes: 4,
    send: async (indexes) => {
      const answer = await fetch(`${address}/api/jobs/batch`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ jobs: indexes.map(jobOf) }),
      });
      if (answer.status !== 200) throw new Error(`not accepted: ${await answer.text()}`);
      const accepted = (await answer.json()) as readonly { status: string }[];
      const refused = accepted.filter(({ status }) => status !== 'submitted');
      if (refused.length > 0) throw new Error(`not accepted: ${JSON.stringify(refused[0])}`);
    },
  });
}
