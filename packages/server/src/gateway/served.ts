/**
 * What a gateway answers: everything, or only what reads, or only what changes something, so that the two can be scaled
 * apart. Who somebody is (sessions, keys of their own) and what everybody may ask is answered by each of them.
 */
import { type Action, isReading } from '@carillon/domain';

export type Served = 'all' | 'reads' | 'writes';

export function isServed(access: string | readonly string[], served: Served): boolean {
  const needed = [access].flat();
  if (served === 'all' || needed.includes('open') || needed.includes('self')) return true;
  const reads = needed.every((action) => isReading(action as Action));
  return served === 'reads' ? reads : !reads;
}
