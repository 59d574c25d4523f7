import { type Caller, SERVER } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { expect, test } from 'vitest';
import type { Operations } from '../operations/operations.ts';
import { FairTurns } from '../shared-limit/fair-turns.ts';
import { operationsInTurns } from './operations-in-turns.ts';

const of = (namespace: string, name: string): Caller => ({
  ...{ ...SERVER, kind: 'key', id: name, name, userId: undefined },
  grants: [{ role: 'viewer', namespace, ownOnly: false }],
});

/** Operations that never end, and who called which. */
function scripted() {
  const called: string[] = [];
  const operation = (name: string) => (caller: Caller) => {
    called.push(`${name} ${caller.name}`);
    return new Promise(() => undefined);
  };
  const names = ['listVersions', 'getJob', 'createJob', 'bulkJobs'];
  const operations = Object.fromEntries(names.map((name) => [name, operation(name)]));
  const turns = new FairTurns({ clock: new ManualClock(), placesMax: 6 });
  return { called, operations: operationsInTurns(operations as unknown as Operations, turns) };
}

test('the requests of one namespace, with however many keys, leave places to those of another', () => {
  const { called, operations } = scripted();
  for (let i = 0; i < 50; i += 1)
    void operations.listVersions(of('a', `key-${i}`), 'j' as never, { limit: 100 });
  expect(called).toHaveLength(4);
  void operations.getJob(of('b', 'bob'), 'j' as never);
  expect(called.at(-1)).toBe('getJob bob');
});

test('submits and bulk requests wait for no turn', () => {
  const { called, operations } = scripted();
  const ann = of('a', 'ann');
  for (let i = 0; i < 50; i += 1) void operations.listVersions(ann, 'j' as never, { limit: 100 });
  void operations.createJob(ann, {} as never);
  void operations.bulkJobs(ann, {} as never);
  expect(called.slice(4)).toEqual(['createJob ann', 'bulkJobs ann']);
});
