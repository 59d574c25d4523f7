/** Namespaces, people, their keys and sessions, and the record of who changed what. */
import type {
  ApiKey,
  AuditEntry,
  AuditFilter,
  CreatedKey,
  CreatedSigningKey,
  Credentials,
  Grant,
  KeyChange,
  KeyFilter,
  KeyRotation,
  Namespace,
  NamespaceChange,
  NewKey,
  NewNamespace,
  NewSigningKey,
  NewUser,
  PasswordChange,
  Preferences,
  PreferencesChange,
  SavedView,
  SavedViewFields,
  Secret,
  SecretFilter,
  SessionFilter,
  SignedIn,
  SignIn,
  SignInMethods,
  SigningKey,
  User,
  UserChange,
  UserFilter,
  UserSession,
  Whoami,
} from '../generated/types.ts';
import type { List } from '../wire/list.ts';
import type { Call, CallOptions, CreateOptions } from '../wire/transport.ts';
import { type PageQuery, path, Resource } from './resource.ts';

/** Namespaces keep the jobs of one team apart from those of another. */
export class Namespaces extends Resource {
  readonly signingKeys = new SigningKeys(this.transport);

  list(query: PageQuery = {}, options: CallOptions = {}): List<Namespace> {
    return this.readList('/namespaces', { ...query }, options);
  }

  get(name: string, options: CallOptions = {}): Promise<Namespace> {
    return this.read(path`/namespaces/${name}`, options);
  }

  /** One that is already there exactly as asked for is answered as if it were new. */
  create(namespace: NewNamespace, options: CreateOptions = {}): Promise<Namespace> {
    return this.transport.create('/namespaces', namespace, options);
  }

  update(name: string, change: NamespaceChange, options: CallOptions = {}): Promise<Namespace> {
    return this.send('PATCH', path`/namespaces/${name}`, options, { body: change });
  }

  /** Refused while there are jobs in it. */
  remove(name: string, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/namespaces/${name}`, options);
  }
}

/** Keys that sign the requests of http jobs of a namespace, so that receivers can tell them from forgeries. */
class SigningKeys extends Resource {
  /** Oldest first, without their secrets. */
  list(namespace: string, options: CallOptions = {}): Promise<readonly SigningKey[]> {
    return this.read(path`/namespaces/${namespace}/signing-keys`, options);
  }

  /**
   * `secret` of the answer is shown this once: keep it. With `overlap_seconds` the key replaces the others. A call whose answer
   * was lost is not repeated, for the server could not show the secret again.
   */
  create(namespace: string, key: NewSigningKey = {}, options: CallOptions = {}): Promise<CreatedSigningKey> {
    return this.send('POST', path`/namespaces/${namespace}/signing-keys`, options, { body: key });
  }

  remove(signingKeyId: string, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/signing-keys/${signingKeyId}`, options);
  }
}

/** Values that payloads name as `{{secrets.name}}` and do not hold. No answer has a value. */
export class Secrets extends Resource {
  /** All of a namespace, by name. */
  list(query: SecretFilter = {}, options: CallOptions = {}): Promise<readonly Secret[]> {
    return this.read('/secrets', options, { ...query });
  }

  get(name: string, query: SecretFilter = {}, options: CallOptions = {}): Promise<Secret> {
    return this.read(path`/secrets/${name}`, options, { ...query });
  }

  /** Makes it, or gives it a new value under the next version. */
  set(name: string, value: string, query: SecretFilter = {}, options: CallOptions = {}): Promise<Secret> {
    return this.send('PUT', path`/secrets/${name}`, options, { query: { ...query }, body: { value } });
  }

  /** Runs that name it fail from then on. */
  remove(name: string, query: SecretFilter = {}, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/secrets/${name}`, options, { query: { ...query } });
  }
}

/** What whoever is signed in keeps for themselves on the dashboard. */
export class OwnSettings extends Resource {
  /** All of them, by screen and name. */
  views(options: CallOptions = {}): Promise<readonly SavedView[]> {
    return this.read('/me/views', options);
  }

  /** Under a UUID that you choose: makes it, or replaces the one under it. */
  putView(viewId: string, view: SavedViewFields, options: CallOptions = {}): Promise<SavedView> {
    return this.send('PUT', path`/me/views/${viewId}`, options, { body: view });
  }

  removeView(viewId: string, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/me/views/${viewId}`, options);
  }

  preferences(options: CallOptions = {}): Promise<Preferences> {
    return this.read('/me/preferences', options);
  }

  /** Replaces all of them. */
  putPreferences(preferences: PreferencesChange, options: CallOptions = {}): Promise<Preferences> {
    return this.send('PUT', '/me/preferences', options, { body: preferences });
  }
}

/** People who sign in, and what they may. */
export class Users extends Resource {
  list(query: UserFilter = {}, options: CallOptions = {}): List<User> {
    return this.readList('/users', { ...query }, options);
  }

  get(userId: string, options: CallOptions = {}): Promise<User> {
    return this.read(path`/users/${userId}`, options);
  }

  create(user: NewUser, options: CreateOptions = {}): Promise<User> {
    return this.transport.create('/users', user, options);
  }

  update(userId: string, change: UserChange, options: CallOptions = {}): Promise<User> {
    return this.send('PATCH', path`/users/${userId}`, options, { body: change });
  }

  /** With a key of a person it takes their password. */
  remove(
    userId: string,
    { currentPassword, ...options }: CallOptions & { readonly currentPassword?: string | undefined } = {},
  ): Promise<unknown> {
    const body = currentPassword === undefined ? undefined : { current_password: currentPassword };
    return this.send('DELETE', path`/users/${userId}`, options, { body });
  }

  /** Replaces all grants of the user. With a key of a person it takes their password. */
  setGrants(
    userId: string,
    grants: readonly Grant[],
    { currentPassword, ...options }: CallOptions & { readonly currentPassword?: string | undefined } = {},
  ): Promise<User> {
    const body = { grants, current_password: currentPassword };
    return this.send('PUT', path`/users/${userId}/grants`, options, { body });
  }

  /** With a key of a person it takes their password, `current_password`. */
  setPassword(userId: string, change: PasswordChange, options: CallOptions = {}): Promise<unknown> {
    return this.send('POST', path`/users/${userId}/password`, options, { body: change });
  }
}

export class Keys extends Resource {
  list(query: KeyFilter = {}, options: CallOptions = {}): List<ApiKey> {
    return this.readList('/keys', { ...query }, options);
  }

  get(keyId: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.read(path`/keys/${keyId}`, options);
  }

  /**
   * `key` of the answer is shown this once: keep it. A call whose answer was lost is not repeated, for the server could
   * not show the key again.
   */
  create(key: NewKey, options: CallOptions = {}): Promise<CreatedKey> {
    return this.send('POST', '/keys', options, { body: key });
  }

  update(keyId: string, change: KeyChange, options: CallOptions = {}): Promise<ApiKey> {
    return this.send('PATCH', path`/keys/${keyId}`, options, { body: change });
  }

  /**
   * A new secret for the key: `key` of the answer, shown this once. The one before works on for the overlap. A call whose answer was lost is not
   * repeated: a second rotation would end the secret that is in use.
   */
  rotate(keyId: string, rotation: KeyRotation = {}, options: CallOptions = {}): Promise<CreatedKey> {
    return this.send('POST', path`/keys/${keyId}/rotate`, options, { body: rotation });
  }

  revoke(keyId: string, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/keys/${keyId}`, options);
  }
}

/** Who is signed in where. */
export class Sessions extends Resource {
  /** One's own; those of another user with `user_id`, those of everybody with `all`. */
  list(query: SessionFilter = {}, options: CallOptions = {}): List<UserSession> {
    return this.readList('/sessions', { ...query }, options);
  }

  end(sessionId: string, options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', path`/sessions/${sessionId}`, options);
  }
}

/** The record of every change: who, what, before and after, from where. */
export class Audit extends Resource {
  list(filter: AuditFilter = {}, options: CallOptions = {}): List<AuditEntry> {
    return this.readList('/audit', { ...filter }, options);
  }
}

/** Sends a call as the person who has signed in. */
type Send = <T>(call: Call) => Promise<T>;

/** Who is asking; signing in and out in a browser; and what only a name and a password can do in programs. */
export class Session extends Resource {
  whoami(options: CallOptions = {}): Promise<Whoami> {
    return this.read('/session', options);
  }

  /**
   * For pages of the same origin: the browser keeps the cookie, which no script can read. Changes need `csrf_token` of the answer
   * (or of `whoami`) in X-CSRF-Token.
   */
  open(credentials: SignIn, options: CallOptions = {}): Promise<SignedIn> {
    return this.transport.json({
      ...{ ...options, method: 'POST', path: '/session', body: credentials, keyless: true },
    });
  }

  /** How one can sign in. Needs no key. */
  methods(options: CallOptions = {}): Promise<SignInMethods> {
    return this.transport.json({ ...options, method: 'GET', path: '/session/methods', keyless: true });
  }

  /** Signs out. */
  close(options: CallOptions = {}): Promise<unknown> {
    return this.send('DELETE', '/session', options);
  }

  /** For programs that know a password and want a key. */
  createKeyWithPassword(
    credentials: Credentials,
    keyFor: (user: User) => NewKey,
    options: CallOptions = {},
  ): Promise<{ user: User; key: CreatedKey }> {
    return this.#signedIn(credentials, options, async (user, send) => {
      const body = { ...keyFor(user), current_password: credentials.password };
      const key = await send<CreatedKey>({ method: 'POST', path: '/keys', body });
      return { user, key };
    });
  }

  /** One's own password. Ends all sessions of that person; their keys go on, unless `endKeys` ends those that they made. */
  changePassword(
    credentials: Credentials,
    newPassword: string,
    { endKeys = false, ...options }: CallOptions & { readonly endKeys?: boolean | undefined } = {},
  ): Promise<User> {
    return this.#signedIn(credentials, options, async (user, send) => {
      const body = { password: newPassword, current_password: credentials.password, end_keys: endKeys };
      await send({ method: 'POST', path: path`/users/${user.user_id}/password`, body });
      return user;
    });
  }

  async #signedIn<T>(
    credentials: Credentials,
    options: CallOptions,
    act: (user: User, send: Send) => Promise<T>,
  ): Promise<T> {
    const { body, headers } = await this.transport.answer<SignedIn>({
      ...options,
      method: 'POST',
      path: '/session',
      body: credentials,
      keyless: true,
    });
    const cookies = headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
    const signedIn = { cookie: cookies.join('; '), 'x-csrf-token': body.csrf_token };
    const send: Send = (call) =>
      this.transport.json({ ...options, ...call, keyless: true, headers: signedIn });
    try {
      // A name and a password are always those of a user.
      return await act(body.user!, send);
    } finally {
      await send({ method: 'DELETE', path: '/session' });
    }
  }
}
