/** People who sign in, and what they may. */
import type { Grant, NewUser, User, UserChange } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, CreateOptions, Transport } from '../wire/transport.ts';

export class Users {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: { readonly limit?: number } = {}, options: CallOptions = {}): List<User> {
    return new List(this.#transport, { ...options, path: '/users', query: { ...query } });
  }

  get(userId: string, options: CallOptions = {}): Promise<User> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(userId) });
  }

  create(user: NewUser, options: CreateOptions = {}): Promise<User> {
    return this.#transport.create('/users', user, options);
  }

  update(userId: string, change: UserChange, options: CallOptions = {}): Promise<User> {
    return this.#transport.json({ ...options, method: 'PATCH', path: pathOf(userId), body: change });
  }

  remove(userId: string, options: CallOptions = {}): Promise<unknown> {
    return this.#transport.json({ ...options, method: 'DELETE', path: pathOf(userId) });
  }

  /** Replaces all grants of the user. */
  setGrants(userId: string, grants: readonly Grant[], options: CallOptions = {}): Promise<User> {
    return this.#transport.json({
      ...options,
      method: 'PUT',
      path: pathOf(userId, '/grants'),
      body: { grants },
    });
  }

  /** Changing one's own needs the current one as well. */
  setPassword(
    userId: string,
    change: { readonly password: string; readonly current_password?: string },
    options: CallOptions = {},
  ): Promise<unknown> {
    return this.#transport.json({
      ...options,
      method: 'POST',
      path: pathOf(userId, '/password'),
      body: change,
    });
  }
}

function pathOf(userId: string, rest = ''): string {
  return `/users/${encodeURIComponent(userId)}${rest}`;
}
