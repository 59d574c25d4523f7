/** What a real browser makes of the page: when something is painted, when the data of a screen stands, and frames a second. */
import { chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS, findChromium } from '../../tests/support/find-chromium.ts';

export type ScreenFigures = { readonly path: string; readonly paintMs: number; readonly shownMs: number };

export type Browsing = {
  /** By the browser's own clock, from when it began to load: the first screen with an empty cache. */
  readonly firstPaintMs: number;
  screen(path: string): Promise<ScreenFigures>;
  /** Of this screen while it is looked at for so long. */
  framesPerSecond(path: string, seconds: number): Promise<number>;
  close(): Promise<void>;
};

const showLimitMs = 60_000;
/** A heading, no part that waits for its answer, and something that was read. */
const isShown = `document.querySelector('main h1') !== null && document.querySelector('main [aria-busy=true]') === null &&
  document.querySelector('main [data-id], main table, main canvas, main section') !== null && performance.now()`;
const firstPaint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";

/** Signed in with the admin key. Undefined where there is no Chromium. */
export async function openBrowsing(at: { address: string; adminKey: string }): Promise<Browsing | undefined> {
  const executablePath = await findChromium();
  if (executablePath === undefined) return undefined;
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
  const context = await browser.newContext({ baseURL: at.address, viewport: { width: 1_280, height: 800 } });
  context.setDefaultTimeout(showLimitMs);
  const on = async <T>(path: string, look: (page: Page) => Promise<T>): Promise<T> => {
    const page = await context.newPage();
    await page.goto(path);
    const seen = await look(page);
    await page.close();
    return seen;
  };
  const firstPaintMs = await on('/login', async (page) => {
    const paintMs = await once(page, firstPaint);
    await page.getByRole('button', { name: /admin key/ }).click();
    await page.locator('input[type=password]').fill(at.adminKey);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.pathname.endsWith('/login'));
    return paintMs;
  });
  return {
    firstPaintMs,
    screen: (path) =>
      on(path, async (page) => {
        const shownMs = await once(page, isShown);
        return { path, paintMs: await once(page, firstPaint), shownMs };
      }),
    framesPerSecond: (path, seconds) =>
      on(path, async (page) => {
        await once(page, isShown);
        const frames = await page.evaluate<number>(`new Promise((done) => {
          const beganAt = performance.now();
          let frames = 0;
          const count = (at) => (at - beganAt < ${seconds * 1_000} ? (frames += 1, requestAnimationFrame(count)) : done(frames));
          requestAnimationFrame(count);
        })`);
        return frames / seconds;
      }),
    close: () => browser.close(),
  };
}

/** Asked with every frame until it is there. */
function once(page: Page, expression: string): Promise<number> {
  return page.evaluate<number>(`new Promise((done, fail) => {
    setTimeout(() => fail(new Error('nothing is shown at ' + location.href)), ${showLimitMs});
    const look = () => {
      const value = ${expression};
      if (value) done(value);
      else requestAnimationFrame(look);
    };
    look();
  })`);
}
