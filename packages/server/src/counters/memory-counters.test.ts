import { describeCounters } from './conformance.ts';
import { MemoryCounters } from './memory-counters.ts';

describeCounters('counters in memory', async () => {
  const counters = new MemoryCounters();
  return { here: counters, there: counters };
});
