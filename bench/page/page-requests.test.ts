/** The list of requests is held against the screens: a call that a screen makes is measured, or changes something. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const screens = new URL('../../packages/dashboard/src/', import.meta.url);
const requests = readFileSync(new URL('./page-requests.ts', import.meta.url), 'utf8');

/** Calls that change something, and those that only a person with a session of their own can make. */
const notAsked =
  /^(create|update|remove|pause|resume|cancel|runNow|rerun|redrive|drain|undrain|open|close|end|set|setGrants|setPassword|revoke|rotate|skip|unskip|restore|putView|removeView|putPreferences)$/;
const ofOneself = new Set(['sessions.list', 'me.views', 'me.preferences']);

it('every question that the dashboard asks is among the requests that are measured', () => {
  const called = new Set<string>();
  for (const file of readdirSync(screens, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(file) || /\.test\.ts$|commands\.ts$/.test(file)) continue;
    const text = readFileSync(new URL(file, screens), 'utf8');
    for (const [, resource, call] of text.matchAll(/\bcarillon\s*\.(\w+)\s*\.(\w+)\(/g))
      if (!notAsked.test(call!)) called.add(`${resource}.${call}`);
  }
  expect(called.size).toBeGreaterThan(20);
  const missing = [...called].filter((call) => !requests.includes(`'${call}'`) && !ofOneself.has(call));
  expect(missing).toEqual([]);
});
