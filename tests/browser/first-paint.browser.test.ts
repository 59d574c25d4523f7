/** How soon the page is painted, by the clock of the browser: printed, and held against its bar by `npm run bench` on a quiet machine. */
import { expect, test } from 'vitest';
import { openBrowsing } from '../../bench/page/browser-figures.ts';
import { hasBrowser, PageStage, RUN_HANDLERS } from './stage.ts';

test.skipIf(!hasBrowser())(
  'the browser tells when it painted, and when the data of a screen stood',
  async () => {
    const stage = await PageStage.open({ handlers: RUN_HANDLERS });
    await stage.admin.jobs.create({ name: 'once', handler: 'ok' });
    const browsing = (await openBrowsing({ address: stage.url, adminKey: stage.adminKey }))!;
    const screens = [
      await browsing.screen('/'),
      await browsing.screen('/jobs'),
      await browsing.screen('/runs'),
    ];
    const frames = await browsing.framesPerSecond('/runs', 1);
    console.log(
      `first paint: ${browsing.firstPaintMs.toFixed(0)} ms; ${frames.toFixed(0)} frames/s; ${screens
        .map(
          ({ path, paintMs, shownMs }) =>
            `${path} painted ${paintMs.toFixed(0)} ms, shown ${shownMs.toFixed(0)} ms`,
        )
        .join('; ')}`,
    );
    expect(browsing.firstPaintMs).toBeGreaterThan(0);
    expect(frames).toBeGreaterThan(0);
    for (const { path, paintMs, shownMs } of screens)
      expect([paintMs > 0, shownMs > 0], path).toEqual([true, true]);
    await browsing.close();
    await stage.close();
  },
);
