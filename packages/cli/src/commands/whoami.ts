/** `whoami`: as whom commands speak, and to which server. */
import { command } from '../command.ts';
import { readLogin } from '../connection/stored-login.ts';
import { grantText } from '../read/roles.ts';

export const whoami = command({
  name: 'whoami',
  summary: 'Show who you are to the server',
  examples: ['carillon whoami'],
  async run({ cli }) {
    const { url, key, from } = await cli.connection();
    const login = await readLogin(cli.world.env);
    const client = await cli.client();
    const who = await client.session.whoami();
    cli.out.record({ url, ...who }, [
      // The server knows a login by its key, whose name says where it was made, not by whom.
      ['signed in as', key !== undefined && login?.key === key ? login.name : undefined],
      ['name', who.name],
      ['kind', who.kind],
      ['user', who.user_id ?? undefined],
      ['may', who.grants.map(grantText).join(' ')],
      ['only', who.scopes?.join(' ')],
      ['server', url],
      ['found through', from],
    ]);
  },
});
