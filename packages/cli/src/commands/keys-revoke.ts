/** `keys revoke`: from now on the key opens nothing. */
import { command } from '../command.ts';
import { forEachId } from './for-each-id.ts';

export const keysRevoke = command({
  name: 'keys revoke',
  summary: 'Revoke API keys',
  arguments: [{ name: '<id...>', description: 'Ids of keys' }],
  examples: ['carillon keys revoke 01893f2e-7c13-7aa1-9c0d-1e2f3a4b5c6d'],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (id) => ({
      answer: (await client.keys.revoke(id)) ?? { key_id: id, status: 'revoked' },
      sentence: `Revoked ${id}`,
    }));
  },
});
