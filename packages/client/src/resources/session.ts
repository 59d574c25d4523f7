/** Who is asking, and what only a name and a password can do. No session outlives the call it was made for. */
import type { CreatedKey, Credentials, NewKey, SignedIn, User, Whoami } from '../generated/types.ts';
import type { Call, CallOptions, Transport } from '../wire/transport.ts';

/** Sends a call as the person who has signed in. */
type Send = <T>(call: Call) => Promise<T>;

export class Session {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  whoami(options: CallOptions = {}): Promise<Whoami> {
    return this.#transport.json({ ...options, method: 'GET', path: '/session' });
  }

  /** For programs that know a password and want a key. */
  createKeyWithPassword(
    credentials: Credentials,
    keyFor: (user: User) => NewKey,
    options: CallOptions = {},
  ): Promise<{ user: User; key: CreatedKey }> {
    return this.#signedIn(credentials, options, async (user, send) => {
      const key = await send<CreatedKey>({ method: 'POST', path: '/keys', body: keyFor(user) });
      return { user, key };
    });
  }

  /** One's own password. Ends all sessions of that person; their keys go on. */
  changePassword(credentials: Credentials, newPassword: string, options: CallOptions = {}): Promise<User> {
    return this.#signedIn(credentials, options, async (user, send) => {
      const body = { password: newPassword, current_password: credentials.password };
      await send({ method: 'POST', path: `/users/${encodeURIComponent(user.user_id)}/password`, body });
      return user;
    });
  }

  async #signedIn<T>(
    credentials: Credentials,
    options: CallOptions,
    act: (user: User, send: Send) => Promise<T>,
  ): Promise<T> {
    const { body, headers } = await this.#transport.answer<SignedIn>({
      ...options,
      method: 'POST',
      path: '/session',
      body: credentials,
      keyless: true,
    });
    const cookies = headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
    const signedIn = { cookie: cookies.join('; '), 'x-csrf-token': body.csrf_token };
    const send: Send = (call) =>
      this.#transport.json({ ...options, ...call, keyless: true, headers: signedIn });
    try {
      return await act(body.user, send);
    } finally {
      await send({ method: 'DELETE', path: '/session' });
    }
  }
}
