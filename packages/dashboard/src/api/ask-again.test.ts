import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { askAgain } from './ask-again.ts';

const SOON = { withinMs: 60_000 };

/** A list that is on the page, and whose questions are answered by the test, in order. */
function shownList() {
  const queries = new QueryClient();
  const answers: ((answer: string) => void)[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ['runs', 'list'],
    queryFn: () => new Promise<string>((resolve) => answers.push(resolve)),
  });
  const stop = observer.subscribe(() => undefined);
  return { queries, answers, stop, shown: () => observer.getCurrentResult().data };
}
const isRuns = ({ queryKey: [about] }: { queryKey: readonly unknown[] }) => about === 'runs';

test('a first answer that was under way when something changed is asked for once more', async () => {
  const { queries, answers, stop, shown } = shownList();
  await eventually(() => expect(answers).toHaveLength(1), SOON);
  const done = askAgain(queries, isRuns);
  answers[0]!('before the change');
  await eventually(() => expect(answers).toHaveLength(2), SOON);
  answers[1]!('after it');
  await done;
  expect(shown()).toBe('after it');
  stop();
});

test('what has been answered is asked again once, and what is not meant never', async () => {
  const { queries, answers, stop, shown } = shownList();
  await eventually(() => expect(answers).toHaveLength(1), SOON);
  answers[0]!('before the change');
  await eventually(() => expect(shown()).toBe('before the change'), SOON);
  await askAgain(queries, () => false);
  expect(answers).toHaveLength(1);
  const done = askAgain(queries, isRuns);
  await eventually(() => expect(answers).toHaveLength(2), SOON);
  answers[1]!('after it');
  await done;
  expect([answers.length, shown()]).toEqual([2, 'after it']);
  stop();
});
