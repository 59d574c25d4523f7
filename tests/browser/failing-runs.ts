/** Runs that fail and are given up, and pictures of what the page says of them, for the tests about that. */
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Page, PageStage, RUN_HANDLERS } from './stage.ts';

export const WAIT = { withinMs: 60_000 };

/** A stage where runs succeed, fail or go on, and an administrator who looks at the list of runs. */
export async function openRuns(): Promise<{ stage: PageStage; page: Page }> {
  const stage = await PageStage.open({ handlers: RUN_HANDLERS });
  return { stage, page: await stage.signedIn('nina', [{ namespace: '*', role: 'admin' }], '/runs') };
}

/** A job whose run fails four times, at once. */
export function failingJob({ admin }: PageStage, name: string, over: object = {}) {
  return admin.jobs.create({
    ...{ name, handler: 'fail', max_retries: 3, retry: { delay_seconds: 0.01, jitter: false } },
    ...over,
  });
}

/** The dead letter of its run, once there is one. */
export function givenUp({ admin }: PageStage, jobId: string) {
  return eventually(async () => {
    const [letter] = await admin.deadLetters.list({ job_id: jobId }).toArray();
    expect(letter).toBeDefined();
    return letter!;
  }, WAIT);
}

/** Keeps a picture of the page where CARILLON_SHOTS names a folder for them. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.CARILLON_SHOTS;
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
