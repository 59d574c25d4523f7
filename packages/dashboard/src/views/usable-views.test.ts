/** Whatever the views of a person hold, the lists beside which they stand are shown. */
import { expect, test } from 'vitest';
import { usableViews } from './usable-views.ts';

const view = { view_id: 'a', screen: 'jobs', name: 'Paused', query: { status: 'PAUSED' }, updated_at: '' };

test('views that the page cannot show are left out', () => {
  const odd = [
    null,
    'text',
    { ...view, query: null },
    { ...view, query: { status: { a: 1 } } },
    { ...view, query: ['x'] },
    { ...view, name: 5 },
    { ...view, view_id: undefined },
    { ...view, screen: 'secrets' },
  ];
  expect(usableViews([...odd, view])).toEqual([view]);
  for (const none of [null, undefined, {}, 'text']) expect(usableViews(none)).toEqual([]);
});

test('of two under one id, one is left', () => {
  expect(usableViews([view, { ...view, name: 'again' }])).toEqual([view]);
});
