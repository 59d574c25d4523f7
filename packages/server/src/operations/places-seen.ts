/**
 * Where a list looks for a caller: the places that the caller may see, narrowed to what was asked for. Each place is one
 * walk through an index, so that a small namespace is listed fast however large its neighbours are.
 */
import { type Action, type Caller, requireMay, visibleTo, WHOLE } from '@carillon/domain';

export interface SeenPlace {
  readonly namespace?: string;
  readonly userId?: string;
}

/** Empty: there is nothing to see. Refuses a caller who may do this nowhere. */
export function placesSeen(
  caller: Caller,
  action: Action,
  asked: { namespace?: string | undefined; userId?: string | undefined } = {},
): SeenPlace[] {
  requireMay(caller, action);
  const visible = visibleTo(caller, action) ?? [{ namespace: WHOLE, userId: undefined }];
  const places = visible.flatMap((seen) => {
    const namespace = seen.namespace === WHOLE ? asked.namespace : seen.namespace;
    const userId = seen.userId ?? asked.userId;
    const fits =
      (asked.namespace === undefined || asked.namespace === namespace) &&
      (asked.userId === undefined || asked.userId === userId);
    return fits
      ? [{ ...(namespace !== undefined && { namespace }), ...(userId !== undefined && { userId }) }]
      : [];
  });
  return places.filter((place, i) => !places.some((other, j) => i !== j && covers(other, place, j < i)));
}

/** Whether everything of the place lies in the other; of two that are equal, the first one stays. */
function covers(other: SeenPlace, place: SeenPlace, isEarlier: boolean): boolean {
  const wider =
    (other.namespace === undefined || other.namespace === place.namespace) &&
    (other.userId === undefined || other.userId === place.userId);
  const equal = other.namespace === place.namespace && other.userId === place.userId;
  return wider && (!equal || isEarlier);
}
