/** What every group of routes is given. */
import type { Operations } from '../../operations/operations.ts';

export interface RouteContext {
  readonly operations: Operations;
  /** Put in front of Location and Link; empty when they are relative. */
  readonly address: string;
}

export interface IdParams {
  Params: { id: string };
}

/** Unknown parameters are refused by the parsers of the contract. */
export interface AnyQuery {
  Querystring: Record<string, unknown>;
}
