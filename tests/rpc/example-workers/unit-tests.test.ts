/** The tests that lie beside the example workers, for those who copy them: trust by both clocks, pauses between dials. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { findGo, findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';

const run = promisify(execFile);
const EXAMPLES = join(import.meta.dirname, '../../../examples');
const found = await findWorkers();
const of = (language: string) => found.find((worker) => worker.language === language)!;
const [python, go] = [of('python'), of('go')];

test.skipIf(isLeftOut(python))(nameOf(python), async () => {
  const [program] = programOf(python);
  const { stderr } = await run(program, ['-B', '-m', 'unittest'], { cwd: join(EXAMPLES, 'python-worker') });
  expect(stderr).toMatch(/^Ran [1-9]\d* tests/m);
});

test.skipIf(isLeftOut(go))(nameOf(go), async () => {
  programOf(go);
  const program = await findGo();
  const env = { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}` };
  const { stdout } = await run(program, ['test', '-count=1', '.'], {
    cwd: join(EXAMPLES, 'go-worker'),
    env,
  });
  expect(stdout).toMatch(/^ok/m);
});
