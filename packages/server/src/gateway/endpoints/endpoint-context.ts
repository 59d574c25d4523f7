/** What every group of endpoints is given. */
import type { Operations } from '../../operations/operations.ts';

export interface EndpointContext {
  readonly operations: Operations;
  /** Put in front of Location and Link; empty when they are relative. */
  readonly address: string;
}
