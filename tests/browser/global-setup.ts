/**
 * What the tests of the page need, once for all of them: the built page, and Chromium, which Debian's package brings where it is
 * missing and we may install it.
 */
import type { TestProject } from 'vitest/node';
import { buildDashboard } from '../../packages/dashboard/build.mjs';
import { findChromium } from '../support/find-chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    chromium: string | undefined;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  await buildDashboard();
  const chromium = await findChromium();
  if (chromium === undefined) {
    const why = 'there is no Chromium, and it can only be installed by root with apt-get';
    if (process.env.CI === 'true') throw new Error(`the page cannot be tested: ${why}`);
    console.warn(`skipped: everything in a browser: ${why}`);
  }
  project.provide('chromium', chromium);
}
