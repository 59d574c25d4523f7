/** A process for call-process.test.ts. */
import { answerCalls } from './call-process.ts';

export type FixtureCalls = typeof calls;

const calls = {
  double: async (value: number) => value * 2,
  fail: async (sentence: string) => {
    throw new Error(sentence);
  },
  die: async (code: number) => process.exit(code),
};

answerCalls(calls);
