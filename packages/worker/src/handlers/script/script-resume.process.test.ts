/** The example of docs/scripts.md, as it stands there: killed in the middle, it goes on where it was. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, RecordingChannel, startScript } from './script.fixture.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../../docs/scripts.md'), 'utf8');
const [, EXAMPLE = ''] = /<!-- resume -->\n```bash\n([\s\S]+?)```/.exec(PAGE) ?? [];

/** Keeps checkpoints as storage does: a killed worker saves nothing more. */
class Storage extends RecordingChannel {
  isOpen = true;
  override async saveCheckpoint(_: unknown, value: string): Promise<void> {
    if (this.isOpen) await super.saveCheckpoint(_, value);
  }
}

test('the example resumes from its checkpoint after kill -9 (C7)', async () => {
  expect(EXAMPLE.split('\n').length).toBeLessThanOrEqual(12);
  const first = new Storage();
  const { run, ended } = startScript({
    payload: { interpreter: 'bash', script: EXAMPLE },
    channel: first,
    options: { graceMs: 0 },
  });
  await eventually(() => first.checkpoints.length >= 3);
  first.isOpen = false;
  run.requestStop('returned', 'the worker was killed', 0);
  await ended;
  const at = Number(first.checkpoints.at(-1));
  expect(at).toBeLessThan(20);

  const second = new Storage();
  const next = startScript({
    payload: { interpreter: 'bash', script: EXAMPLE },
    channel: second,
    checkpoint: at,
  });
  expect(await next.ended).toEqual({ kind: 'SUCCESS', result: '{"steps":20}' });
  const steps = second.text().trim().split('\n');
  expect(steps[0]).toBe(`step ${at + 1}`);
  expect(steps).toHaveLength(20 - at);
  expect(second.checkpoints.at(-1)).toBe(20);
});
