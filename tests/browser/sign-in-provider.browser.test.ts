/** Signing in on the page with a real OpenID Connect provider: there and back, refused, and out again. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  CLIENT,
  type ProviderFixture,
  startProvider,
} from '../../packages/server/src/gateway/routes/oidc-provider.fixture.ts';
import { fixedPort } from '../support/processes.ts';
import { expectAccessible, hasBrowser, type Page, PageStage, pathOf } from './stage.ts';

describe.skipIf(!hasBrowser())('the page, with a provider of the company', () => {
  let stage: PageStage;
  let provider: ProviderFixture;
  beforeAll(async () => {
    // The provider tells everybody that its defaults are for tests.
    for (const method of ['warn', 'info'] as const) vi.spyOn(console, method).mockReturnValue(undefined);
    const port = await fixedPort();
    const here = `http://127.0.0.1:${port}`;
    provider = await startProvider({
      redirectUris: [`${here}/api/oidc/callback`],
      logoutUris: [`${here}/login`],
    });
    provider.people.set('ada', { preferred_username: 'ada', groups: ['staff'] });
    provider.people.set('mallory', { preferred_username: 'mallory', groups: ['guests'] });
    stage = await PageStage.open({
      settings: {
        port,
        public_url: here,
        oidc: {
          ...{ issuer: provider.issuer, client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret },
          ...{ scopes: ['openid', 'profile', 'groups'], grants: ['staff=viewer@*'], label: 'Example Corp' },
        },
      },
    });
  });
  afterEach(() => {
    stage.forgiveFailedAnswers();
    stage.expectNothingWrong(provider.issuer);
  });
  afterAll(async () => {
    await stage.close();
    await provider.close();
    vi.restoreAllMocks();
  });

  /** The provider's own pages want a font from elsewhere. */
  const visitor = async () => {
    const { page, context } = await stage.visitor();
    const known = [stage.url, provider.issuer];
    await context.route(
      (url) => !known.includes(url.origin),
      (route) => route.abort(),
    );
    return page;
  };

  test('signs in by the button, lands where somebody wanted to go, and signs out at the provider too', async () => {
    const page = await visitor();
    await page.goto('/runs?status=FAILED');
    await page.waitForURL(/\/login\?next=/);
    await expectAccessible(page);
    await signInAt(page, 'ada');
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(pathOf(page)).toBe('/runs?status=FAILED');
    const account = page.getByRole('button', { name: 'ada', exact: true });
    await account.click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    // The provider asks whether to sign out there, and sends the browser back.
    await page.waitForURL((url) => url.href.startsWith(provider.issuer));
    await page.getByRole('button', { name: /Yes/ }).click();
    await page.waitForURL(`${stage.url}/login**`);
    await page.goto('/runs');
    await page.waitForURL(/\/login\?next=/);
    // Signed out there as well: it asks who it is.
    await page.getByRole('link', { name: 'Example Corp' }).click();
    await page.locator('input[name=login]').waitFor();
  });

  test('says why somebody was not let in', async () => {
    const page = await visitor();
    await page.goto('/login?next=%2Fjobs');
    await page.getByRole('link', { name: 'Example Corp' }).click();
    await page.getByRole('link', { name: /Cancel/ }).click();
    await page.waitForURL(/\/login\?.*error=refused/);
    await page.getByRole('alert').getByText('The provider did not sign you in').waitFor();
    await signInAt(page, 'mallory');
    await page.waitForURL(/\/login\?.*error=no_access/);
    await page.getByRole('alert').getByText('none of your groups may use Carillon').waitFor();
    await expectAccessible(page);
    await page.goto('/login?error=%3Cimg%20src%3Dx%3E');
    await page.getByRole('alert').getByText('The provider did not sign you in').waitFor();
  });
});

/** Its development pages take every password, and ask for consent once. */
async function signInAt(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: 'Example Corp' }).click();
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}
