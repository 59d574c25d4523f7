/**
 * A complete server with its page, and people who look at it in Chromium. Everything that a page says in its console as an error,
 * every exception and every request that leaves its origin fails the test that caused it.
 */
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect, inject, onTestFinished } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import {
  type StartedTestServer,
  startTestServer,
  type TestServerOptions,
} from '../../packages/server/src/testing/index.ts';
import { CHROMIUM_FLAGS } from '../support/find-chromium.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

/** How long a page may take for anything. */
const PATIENCE_MS = 120_000;
export const PASSWORD = 'correct horse battery staple';

/** One that succeeds, one that fails, and one that runs until it is told to stop. */
export const RUN_HANDLERS: NonNullable<TestServerOptions['handlers']> = {
  ok: () => 'done',
  fail: () => {
    throw new Error('the tape is full');
  },
  hold: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
};

export const hasBrowser = (): boolean => inject('chromium') !== undefined;

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly timeZone?: string;
}

export interface StageOptions extends TestServerOptions {
  /** Starts another server than one in this process; its address is where people see it. */
  readonly start?: (databaseUrl: string) => Promise<StartedTestServer>;
}

/** What Chromium itself writes about an answer with an error, or about none. */
const ABOUT_ANSWERS = /^Failed to load resource/;

export type { Page } from 'playwright-core';

export class PageStage {
  readonly databaseUrl: string;
  readonly #database: TestDatabase;
  readonly #browser: Browser;
  readonly #start: () => Promise<StartedTestServer>;
  #server: StartedTestServer;
  #wrong: string[] = [];

  private constructor(parts: {
    server: StartedTestServer;
    start: () => Promise<StartedTestServer>;
    database: TestDatabase;
    browser: Browser;
  }) {
    this.#server = parts.server;
    this.#start = parts.start;
    this.#database = parts.database;
    this.#browser = parts.browser;
    this.databaseUrl = parts.database.url;
  }

  static async open({ start: startOther, ...options }: StageOptions = {}): Promise<PageStage> {
    const postgres = inject('postgresServers').find(({ version }) => version === 18)!;
    const database = await createTestDatabase(postgres.url);
    const start = () =>
      startOther ? startOther(database.url) : startTestServer({ databaseUrl: database.url, ...options });
    const server = await start();
    const browser = await chromium.launch({ executablePath: inject('chromium')!, args: CHROMIUM_FLAGS });
    return new PageStage({ server, start, database, browser });
  }

  /** Without a slash at its end. */
  get url(): string {
    return this.#server.url;
  }

  get adminKey(): string {
    return this.#server.key;
  }

  /** With the admin key. */
  get admin(): Carillon {
    return new Carillon({ url: this.url, key: this.#server.key });
  }

  async stopServer(): Promise<void> {
    await this.#server.stop();
  }

  /** After stopServer: the same database, and the same port where the settings name one. */
  async startAgain(): Promise<void> {
    this.#server = await this.#start();
  }

  /** A browser of their own, where nobody is signed in. It is closed with its test: live pages go on drawing what later tests change. */
  async visitor(look: Look = {}): Promise<{ page: Page; context: BrowserContext }> {
    const { width = 1280, height = 800, scheme = 'light', timeZone = 'Europe/Paris' } = look;
    const context = await this.#browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      timezoneId: timeZone,
      baseURL: this.url,
    });
    // Made before the first test, it is for all of them.
    if (expect.getState().currentTestName !== undefined) onTestFinished(() => context.close());
    // A limit only ends a hang.
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    this.watch(page);
    return { page, context };
  }

  /** Whatever the page does wrong is told by expectNothingWrong. */
  watch(page: Page): void {
    page.on('console', (message) => {
      // The answer 401 of "who am I" is how the page learns that nobody is signed in; Chromium logs each such answer.
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
        this.#wrong.push(message.text());
    });
    page.on('dialog', (dialog) => {
      this.#wrong.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => this.#wrong.push(String(error)));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(this.url) && !url.startsWith('data:') && !url.startsWith('blob:'))
        this.#wrong.push(`a request to ${url} from ${request.frame().url()}`);
    });
  }

  /** Makes the user and signs them in; lands on `path`. */
  async signedIn(name: string, grants: readonly object[], path = '/', look: Look = {}): Promise<Page> {
    const users = await this.admin.users.list({ name }).toArray();
    if (users.length === 0)
      await this.admin.users.create({ name, password: PASSWORD, grants: grants as never });
    const { page } = await this.visitor(look);
    await page.goto(`${this.url}/login?next=${encodeURIComponent(path)}`);
    await signIn(page, name);
    return page;
  }

  /** Except requests to and from another server that people are sent to. */
  expectNothingWrong(except?: string): void {
    const wrong = this.#wrong.splice(0);
    const isOther = (text: string) =>
      except !== undefined && (text.startsWith(`a request to ${except}`) || text.includes(` from ${except}`));
    expect(wrong.filter((text) => !isOther(text))).toEqual([]);
  }

  /** For tests in which answers fail on purpose. */
  forgiveFailedAnswers(): void {
    this.#wrong = this.#wrong.filter((text) => !ABOUT_ANSWERS.test(text));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#server.stop();
    await this.#database.drop();
  }
}

/** On the page of the sign-in. */
export async function signIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.locator('input[type=password]').fill(password);
  const submit = page.getByRole('button', { name: 'Sign in', exact: true });
  await submit.click();
  await page.waitForURL((url) => !url.pathname.endsWith('/login'));
  // The form, with its field for a name, stays until the first screen is there.
  await submit.waitFor({ state: 'detached' });
}

/** Clicks where it is still there: the page may have read by itself meanwhile. */
export const tryAgain = (page: Page): Promise<void> =>
  page.evaluate(
    "for (const each of document.querySelectorAll('button')) if (each.textContent === 'Try again') each.click()",
  );

/** Everything about these paths fails as behind a proxy whose server is away; the answered function ends it. */
export async function breakAnswers(page: Page, path: RegExp): Promise<() => Promise<void>> {
  await page.route(path, (route) =>
    route.fulfill({
      status: 503,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        ...{ code: 'storage_unavailable', detail: 'The database does not answer.', fix: 'Try again later.' },
      }),
    }),
  );
  return () => page.unroute(path);
}

/** What an address of this page asks for: its path and its query. */
export function pathOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

/** Nothing is cut off at the right edge. */
export async function expectFits(page: Page): Promise<void> {
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  expect(wide).toBeLessThanOrEqual(0);
}

/** The only rules of axe that look at colours; the others find the same in every scheme. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** In light and in dark colours. */
export async function expectAccessibleInBothSchemes(page: Page): Promise<void> {
  await useScheme(page, 'dark');
  expect(await violationsOf(page, COLOUR_RULES)).toEqual([]);
  await useScheme(page, 'light');
  expect(await violationsOf(page)).toEqual([]);
}

async function useScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor({ state: 'attached' });
  await settled(page);
}

/** Colours that change are read when they have changed. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      .then(() => Promise.allSettled(document.getAnimations()
        .filter((each) => Number.isFinite(each.effect?.getComputedTiming().endTime))
        .map((each) => each.finished)))
      .then(() => undefined)`,
  );
}

/** Finds what people with disabilities could not use (axe). */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
}

/** By these rules alone, or by all. The page keeps axe until it is loaded anew: most of the time of a look is reading its source. */
async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) };
  const results = `axe.run(document, ${JSON.stringify(options)})`;
  const { violations } = await page.evaluate<axe.AxeResults>(results);
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, any: [why] }) => `${target.join(' ')} (${why?.message})`).join(' | ')}`,
  );
}
