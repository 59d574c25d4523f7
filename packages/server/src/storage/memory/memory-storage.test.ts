import { ManualClock } from '@carillon/foundation';
import { describeStorage } from '../conformance/all.ts';
import { MemoryStorage } from './memory-storage.ts';

describeStorage('memory storage', async () => {
  const clock = new ManualClock();
  const ageRemovals = async (ms: number) => clock.advance(ms);
  return { storage: new MemoryStorage({ clock }), clock, ageRemovals, close: async () => {} };
});
