/** `logout`: forgets the stored login, and revokes the key that `login` made for it. */
import { CarillonError } from '@carillon/client';
import { command } from '../command.ts';
import { readLogin, removeLogin } from '../connection/stored-login.ts';

export const logout = command({
  name: 'logout',
  summary: 'Forget the stored login',
  details: 'A key that `login` made is revoked.',
  examples: ['carillon logout'],
  async run({ cli }) {
    const { env } = cli.world;
    const login = await readLogin(env);
    if (!login) {
      cli.out.done({ status: 'not_signed_in' }, 'Nobody was signed in.');
      return;
    }
    if (login.keyId !== undefined) {
      await cli
        .clientOf(login)
        .keys.revoke(login.keyId)
        .catch((error: unknown) => {
          // Signing out must always work; a key that lives on is worth a word, unless it is gone already.
          if (!(error instanceof CarillonError)) throw error;
          if (error.status !== 401 && error.status !== 404)
            cli.out.warn(`The key ${login.keyId} could not be revoked: ${error.message}`);
        });
    }
    await removeLogin(env);
    cli.out.done({ status: 'signed_out', url: login.url }, `Signed out of ${login.url}.`);
  },
});
