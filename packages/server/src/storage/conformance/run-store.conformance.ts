/** The promises of RunStore, as tests that every adapter passes. */
import { describe } from 'vitest';
import { describeDeadLetters } from './dead-letters.conformance.ts';
import { describeRunViews } from './run-views.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeRunStore(makeStorage: MakeStorage): void {
  describe('run store: views', () => describeRunViews(makeStorage));
  describe('run store: dead letters', () => describeDeadLetters(makeStorage));
}
