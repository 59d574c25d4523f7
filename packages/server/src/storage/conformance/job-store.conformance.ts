/** The promises of JobStore, as tests that every adapter passes. */
import { describe } from 'vitest';
import { describeJobChange } from './job-change.conformance.ts';
import { describeJobInsert } from './job-insert.conformance.ts';
import { describeJobKeys } from './job-keys.conformance.ts';
import { describeJobList } from './job-list.conformance.ts';
import { describeJobPause } from './job-pause.conformance.ts';
import { describeJobReplan } from './job-replan.conformance.ts';
import { describeJobRuns } from './job-runs.conformance.ts';
import { describeJobSort } from './job-sort.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeJobStore(makeStorage: MakeStorage): void {
  describe('job store: insert and read', () => describeJobInsert(makeStorage));
  describe('job store: keys', () => describeJobKeys(makeStorage));
  describe('job store: lists', () => describeJobList(makeStorage));
  describe('job store: sorted lists', () => describeJobSort(makeStorage));
  describe('job store: edit', () => describeJobChange(makeStorage));
  describe('job store: what an edit does to pending rows', () => describeJobReplan(makeStorage));
  describe('job store: pause and cancel', () => describeJobPause(makeStorage));
  describe('job store: single runs and removal', () => describeJobRuns(makeStorage));
}
