/**
 * What the tests of the page need, once for all of them: the built page, and Chromium, which Debian's package brings where it is
 * missing and we may install it.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { buildDashboard } from '../../packages/dashboard/build.mjs';

const run = promisify(execFile);
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const INSTALL_MS_MAX = 600_000;

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

async function findChromium(): Promise<string | undefined> {
  const { CARILLON_CHROMIUM: named } = process.env;
  if (named !== undefined) return named;
  return PLACES.find((path) => existsSync(path)) ?? (await installChromium());
}

async function installChromium(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return undefined;
  console.warn('installing Chromium by apt-get …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, timeout: INSTALL_MS_MAX, maxBuffer: 64 * 1_024 * 1_024 };
  try {
    await run('apt-get', ['update', '-qq'], options);
    await run(
      'apt-get',
      ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
      options,
    );
  } catch (error) {
    console.warn(`Chromium could not be installed: ${(error as Error).message}`);
  }
  return PLACES.find((path) => existsSync(path));
}
