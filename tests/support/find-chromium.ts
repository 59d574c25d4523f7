/** Chromium: where a variable names it, where Debian's package puts it, or installed by that package where we may. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const INSTALL_MS_MAX = 600_000;

/** Everything that Chromium would fetch by itself is off: it talks to the server that it is shown alone. */
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function findChromium(): Promise<string | undefined> {
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
