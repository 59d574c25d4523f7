/** A user by id or by the name they sign in with. */
import { type Carillon, CarillonError, type User } from '@carillon/client';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export async function findUser(client: Carillon, idOrName: string): Promise<User> {
  if (UUID.test(idOrName)) return client.users.get(idOrName);
  for await (const user of client.users.list({ limit: 200 })) {
    if (user.name === idOrName.toLowerCase()) return user;
  }
  throw new CarillonError({
    code: 'user_not_found',
    message: `There is no user ${idOrName}.`,
    fix: '`carillon users list` shows them.',
    status: 404,
  });
}
