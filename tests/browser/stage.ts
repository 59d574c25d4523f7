/**
 * A complete server with its page, and people who look at it in Chromium. Everything that a page says in its console as an error,
 * every exception and every request that leaves its origin fails the test that caused it.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect, inject } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import {
  type StartedTestServer,
  startTestServer,
  type TestServerOptions,
} from '../../packages/server/src/testing/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

export const PASSWORD = 'correct horse battery staple';

/** Everything that Chromium would fetch by itself is off: a test talks to its own server alone. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const hasBrowser = (): boolean => inject('chromium') !== undefined;

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly timeZone?: string;
}

export class PageStage {
  readonly server: StartedTestServer;
  /** With the admin key. */
  readonly admin: Carillon;
  readonly #database: TestDatabase;
  readonly #browser: Browser;
  readonly #wrong: string[] = [];

  private constructor(parts: { server: StartedTestServer; database: TestDatabase; browser: Browser }) {
    this.server = parts.server;
    this.#database = parts.database;
    this.#browser = parts.browser;
    this.admin = new Carillon({ url: parts.server.url, key: parts.server.key });
  }

  static async open(options: TestServerOptions = {}): Promise<PageStage> {
    const postgres = inject('postgresServers').find(({ version }) => version === 18)!;
    const database = await createTestDatabase(postgres.url);
    const server = await startTestServer({ databaseUrl: database.url, ...options });
    const browser = await chromium.launch({ executablePath: inject('chromium')!, args: FLAGS });
    return new PageStage({ server, database, browser });
  }

  /** A browser of their own, where nobody is signed in. */
  async visitor(look: Look = {}): Promise<{ page: Page; context: BrowserContext }> {
    const { width = 1280, height = 800, scheme = 'light', timeZone = 'Europe/Paris' } = look;
    const context = await this.#browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      timezoneId: timeZone,
      baseURL: this.server.url,
    });
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
    page.on('pageerror', (error) => this.#wrong.push(String(error)));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(this.server.url) && !url.startsWith('data:') && !url.startsWith('blob:'))
        this.#wrong.push(`a request to ${url}`);
    });
  }

  /** Makes the user and signs them in; lands on `path`. */
  async signedIn(name: string, grants: readonly object[], path = '/', look: Look = {}): Promise<Page> {
    const users = await this.admin.users.list({ name }).toArray();
    if (users.length === 0)
      await this.admin.users.create({ name, password: PASSWORD, grants: grants as never });
    const { page } = await this.visitor(look);
    await page.goto(`/login?next=${encodeURIComponent(path)}`);
    await page.getByLabel('Name').fill(name);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL((url) => url.pathname !== '/login');
    return page;
  }

  expectNothingWrong(): void {
    expect(this.#wrong.splice(0)).toEqual([]);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.server.stop();
    await this.#database.drop();
  }
}

/** Finds what people with disabilities could not use (axe). */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).join(' | ')}`),
  ).toEqual([]);
}
