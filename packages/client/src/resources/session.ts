/** Who is asking, and signing in with a name and a password. */
import type { CreatedKey, NewKey, SignedIn, User, Whoami } from '../types/account.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class Session {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  whoami(options: CallOptions = {}): Promise<Whoami> {
    return this.#transport.json({ ...options, method: 'GET', path: '/session' });
  }

  /** For programs that know a password and want a key: signs in, makes it, and leaves no session behind. */
  async createKeyWithPassword(
    credentials: { readonly name: string; readonly password: string },
    keyFor: (user: User) => NewKey,
    options: CallOptions = {},
  ): Promise<{ user: User; key: CreatedKey }> {
    const { body, headers } = await this.#transport.answer<SignedIn>({
      ...options,
      method: 'POST',
      path: '/session',
      body: credentials,
      keyless: true,
    });
    const cookies = headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
    const signedIn = {
      ...options,
      keyless: true,
      headers: { cookie: cookies.join('; '), 'x-csrf-token': body.csrf_token },
    };
    try {
      const key = await this.#transport.json<CreatedKey>({
        ...signedIn,
        method: 'POST',
        path: '/keys',
        body: keyFor(body.user),
      });
      return { user: body.user, key };
    } finally {
      await this.#transport.json({ ...signedIn, method: 'DELETE', path: '/session' });
    }
  }
}
