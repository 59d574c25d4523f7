/** Users and keys by what people know of them: the name, or of a key what it begins with, instead of the id. */
import { type ApiKey, type Carillon, CarillonError, type List, type User } from '@carillon/client';
import { UsageError } from '../errors.ts';
import { PAGE_MAX } from './actions.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export async function findUser(client: Carillon, idOrName: string): Promise<User> {
  if (UUID.test(idOrName)) return client.users.get(idOrName);
  const [user] = await client.users.list({ name: idOrName }).toArray();
  return user ?? notFound('user', idOrName);
}

/** A name that several keys have is refused: none of them is meant more than the others. */
export async function findKey(client: Carillon, given: string): Promise<ApiKey> {
  if (UUID.test(given)) return client.keys.get(given);
  const found = await keysCalled(client, given).catch(async (error: unknown) => {
    // A key that may not read keys may still be asked for itself.
    if (!(error instanceof CarillonError) || error.code !== 'forbidden') throw error;
    const { kind, id, name } = await client.session.whoami();
    if (kind !== 'key' || name !== given) throw error;
    return [await client.keys.get(id)];
  });
  const [key, second] = found;
  if (second === undefined) return key ?? notFound('key', given);
  const lines = found.map(({ key_id: id, prefix, created_at: at }) => `  ${id}  ${prefix}  ${at}`);
  throw new UsageError(`Several keys are called ${given}:\n${lines.join('\n')}`, 'Give the id.');
}

function keysCalled(client: Carillon, given: string): Promise<ApiKey[]> {
  if (!/^ck2?_[a-z0-9]{10}$/.test(given)) return client.keys.list({ name: given }).toArray();
  return withPrefix(client.keys.list({ limit: PAGE_MAX }), given);
}

async function withPrefix(keys: List<ApiKey>, prefix: string): Promise<ApiKey[]> {
  for await (const key of keys) if (key.prefix === prefix || key.previous_prefix === prefix) return [key];
  return [];
}

function notFound(what: 'user' | 'key', given: string): never {
  throw new CarillonError({
    code: `${what}_not_found`,
    message: `There is no ${what} ${given}.`,
    fix: `\`carillon ${what}s list\` shows them.`,
    status: 404,
  });
}
