import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { civilFromDays, DAY_MS, daysFromCivil, daysInMonth, weekdayOfDays } from './civil-date.ts';

describe('civil dates', () => {
  test('agree with Date for every day of 1900 to 2200', () => {
    for (let days = -25_567; days < 84_000; days += 1) {
      const date = new Date(days * DAY_MS);
      const civil = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
      const found = civilFromDays(days);
      if (found.day !== civil.day || found.month !== civil.month || found.year !== civil.year) {
        expect({ days, ...found }).toEqual({ days, ...civil });
      }
      if (
        daysFromCivil(civil.year, civil.month, civil.day) !== days ||
        weekdayOfDays(days) !== date.getUTCDay()
      ) {
        expect.fail(`day ${days}`);
      }
    }
  });

  test('know the length of every month', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1600, max: 2400 }), fc.integer({ min: 1, max: 12 }), (year, month) => {
        expect(daysInMonth(year, month)).toBe(new Date(Date.UTC(year, month, 0)).getUTCDate());
      }),
    );
  });
});
