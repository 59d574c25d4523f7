import { expect, test } from 'vitest';
import { ticketOf } from './ticket.ts';

test('the ticket of a link is told from a link that is not complete', () => {
  expect(ticketOf(`#ticket=${'a'.repeat(43)}`)).toBe('a'.repeat(43));
  expect(ticketOf('#ticket=badbadbad')).toBe('damaged');
  expect(ticketOf('#ticket=')).toBe('damaged');
  expect(ticketOf('')).toBeUndefined();
  expect(ticketOf('#attempts')).toBeUndefined();
});
