/** Why the home of a worker gives runs back that the worker has not ended: none of it counts as an attempt (LEASE-8). */
import { RUN_ERRORS, type RunOutcome } from '@carillon/domain';

export const NEVER_ARRIVED: RunOutcome = { kind: 'RETURNED', error: 'the run never reached its worker' };

/** LEASE-15. */
export const LEFT: RunOutcome = { kind: 'RETURNED', error: RUN_ERRORS.shutDown() };

/** LEASE-16. */
export const FORGOTTEN: RunOutcome = {
  kind: 'RETURNED',
  error: 'the worker did not name the run as its own',
};
