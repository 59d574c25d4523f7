/**
 * The time Carillon knows: 1970 up to and including the year 2100. Every search is bounded by it, so that a rule with
 * no occurrence ahead ends instead of hanging.
 */
export const MIN_INSTANT_MS = 0;
export const MAX_INSTANT_MS = Date.UTC(2101, 0, 1) - 1;
export const MIN_YEAR = 1970;
export const MAX_YEAR = 2100;
