/** `whoami`: as whom commands speak, and to which server. */
import { command } from '../command.ts';
import { grantText } from '../read/roles.ts';

export const whoami = command({
  name: 'whoami',
  summary: 'Show who you are to the server',
  examples: ['carillon whoami'],
  async run({ cli }) {
    const { url, from } = await cli.connection();
    const client = await cli.client();
    const who = await client.session.whoami();
    cli.out.record({ url, ...who }, [
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
