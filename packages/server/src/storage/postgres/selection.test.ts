import { describe, expect, it } from 'vitest';
import type { Session } from '../../postgres/database.ts';
import { column, columns, ms, optional, read, readAll, readFirst } from './selection.ts';

interface Pet {
  readonly name: string;
  readonly bornAtMs: number | undefined;
}
const PET = columns<Pet>({ name: 'p.name', bornAtMs: ms('p.born') });
const HOUSE = columns<{ street: string | undefined; pet: Pet | undefined; rooms: number }>({
  street: 'h.street',
  pet: optional(PET),
  rooms: column('h.rooms', Number, 1),
});
const HOUSES = read('houses', HOUSE)`SELECT ${HOUSE.sql} FROM houses`;

function sessionOf(rows: readonly (readonly unknown[])[]): Session {
  return { query: async <R extends readonly unknown[]>() => rows as unknown as R[] };
}

describe('a selection', () => {
  it('lists its columns in the order of the properties, those of nested ones in between', () => {
    expect(HOUSES).toMatchObject({
      name: 'houses',
      text: `SELECT h.street, p.name, (extract(epoch FROM p.born) * 1000)::float8, h.rooms FROM houses`,
    });
    expect(HOUSE.length).toBe(4);
  });

  it('reads each row, and rounds instants', async () => {
    const session = sessionOf([
      ['Elm Street', 'Rex', 1_000.4, '5'],
      ['Oak Street', 'Tom', null, '2'],
    ]);
    expect(await readAll(session, HOUSES, [])).toEqual([
      { street: 'Elm Street', pet: { name: 'Rex', bornAtMs: 1_000 }, rooms: 5 },
      { street: 'Oak Street', pet: { name: 'Tom', bornAtMs: undefined }, rooms: 2 },
    ]);
  });

  it('reads NULL as undefined, as the given value, and as a missing object', async () => {
    const house = await readFirst(sessionOf([[null, null, null, null]]), HOUSES, []);
    expect(house).toStrictEqual({ street: undefined, pet: undefined, rooms: 1 });
  });

  it('reads no first row where there is none', async () => {
    expect(await readFirst(sessionOf([]), HOUSES, [])).toBeUndefined();
  });
});
