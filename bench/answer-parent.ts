/** The other side of ask-process.ts: takes one order over IPC, answers with one message, and ends with its parent. */
import type { Failed } from './ask-process.ts';

export function answerParent<Order, Answer extends { readonly ok: true }>(
  carryOut: (order: Order) => Promise<Answer | Failed>,
): void {
  process.once('disconnect', () => process.exit(1));
  process.once('message', (order) => void answer(order as Order));

  const answer = async (order: Order): Promise<void> => {
    let result: Answer | Failed;
    try {
      result = await carryOut(order);
    } catch (error) {
      // The stack is for the terminal; the report gets the sentence.
      console.error(error);
      result = { ok: false, reason: error instanceof Error ? error.message : String(error) };
    }
    process.send?.(result, () => process.exit(0));
  };
}
