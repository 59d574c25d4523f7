/** What a request in bulk is about: the ids that it names, or else a filter. */
import { refuseValue } from '@carillon/domain';
import { z } from 'zod';

/** Of jobs or runs. */
type Noun = 'job' | 'run' | 'dead letter';

export function idsInBody(noun: Noun, max: number, what = `these ${noun}s`) {
  return z
    .array(z.uuid({ error: `must be the id of a ${noun}` }), { error: `must be ids of ${noun}s` })
    .min(1, { error: `names no ${noun}` })
    .max(max, { error: `names more than ${max} ${noun}s` })
    .nullish()
    .describe(`Instead of a filter: ${what}, up to ${max}.`);
}

interface Given {
  readonly filter?: object | null | undefined;
  /** Fields that only a filter has, such as where it continues. */
  readonly ofFilter: { readonly [Name in 'cursor' | 'after' | 'before' | 'limit']?: unknown };
}

/** Undefined: a filter is meant. What says both, or neither, is refused. */
export function chosenIds<Id extends string>(
  field: 'job_ids' | 'run_ids',
  ids: readonly string[] | null | undefined,
  { filter, ofFilter: { limit, ...place } }: Given,
): readonly Id[] | undefined {
  if (ids == null) {
    if (filter == null)
      refuseValue('filter', `filter is missing; give a filter or ${field}.`, 'field_missing');
    return undefined;
  }
  if (filter != null) refuseValue(field, `${field} and filter contradict each other; give only one of them.`);
  if (Object.values(place).some((value) => value != null))
    refuseValue('cursor', `cursor continues a filter; ${field} are done by one request.`);
  if (limit != null) refuseValue('limit', `limit is for a filter; ${field} are done by one request.`);
  return ids.map((id) => id.toLowerCase() as Id);
}
