/** What every group of endpoints is given. */
import type { Operations } from '../../operations/operations.ts';
import type { Authenticate } from '../authenticate/create-authenticate.ts';

export interface EndpointContext {
  readonly operations: Operations;
  /** Put in front of Location and Link; empty when they are relative. */
  readonly address: string;
  /** For answers that go on: who the caller is by now. */
  readonly authenticate: Authenticate;
  /** For answers that go on: the gateway is closing. */
  readonly stopping: AbortSignal;
}
