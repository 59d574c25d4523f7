/**
 * The operations as requests call them: each takes a turn, so that the requests of one namespace, however many and however much they read,
 * leave connections to the database to those of others, and to the engine.
 */
import type { Caller } from '@carillon/domain';
import type { Operations } from '../operations/operations.ts';
import type { FairTurns } from '../shared-limit/fair-turns.ts';
import { claimantOf } from '../shared-limit/shared-limit.ts';

type Operation = (...args: never[]) => unknown;
type TakesTurn = (caller: Caller, ...rest: never[]) => Promise<unknown>;
/** These cannot take one. */
type Impossible = {
  [Name in keyof Operations]: Operations[Name] extends TakesTurn ? never : Name;
}[keyof Operations];

const WITHOUT_TURN: Readonly<Record<Impossible, true> & Partial<Record<keyof Operations, true>>> = {
  // They share transactions, and are bounded there.
  ...{ createJob: true, createJobs: true },
  // Long, and few at a time by bounds of their own.
  ...{ bulkJobs: true, bulkRuns: true, bulkRedriveDeadLetters: true },
  ...{ watchLive: true, watchEvents: true },
  // Of somebody who is not known yet, or has just been recognised.
  ...{ signIn: true, signInWithTicket: true, signInWithAdminKey: true, signInFromOutside: true },
  ...{ leaveFormerSession: true },
};

export function operationsInTurns(operations: Operations, turns: FairTurns): Operations {
  const entries = Object.entries(operations).map(([name, operation]: [string, Operation]) => {
    if (name in WITHOUT_TURN) return [name, operation];
    const run = operation as TakesTurn;
    return [
      name,
      (caller: Caller, ...rest: never[]) => turns.run(claimantOf(caller), () => run(caller, ...rest)),
    ];
  });
  return Object.fromEntries(entries) as Operations;
}
