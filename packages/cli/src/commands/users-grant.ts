/** `users grant`: what a user may, added to what they have, or instead of it. */
import type { Grant } from '@carillon/client';
import { command } from '../command.ts';
import { findUser } from '../read/find-user.ts';
import { grantText, readGrant } from '../read/roles.ts';

export const usersGrant = command<{ readonly replace?: boolean; readonly revoke?: boolean }>({
  name: 'users grant',
  summary: 'Say what a user may',
  arguments: [
    { name: '<user>', description: 'Name or id' },
    { name: '<grant...>', description: 'viewer (everywhere), editor@billing, operator@billing:own' },
  ],
  options: [
    { flags: '--replace', description: 'Only these from now on' },
    { flags: '--revoke', description: 'Take these away instead' },
  ],
  examples: [
    'carillon users grant ada editor@billing',
    'carillon users grant ada viewer --replace',
    'carillon users grant ada editor@billing --revoke',
  ],
  async run({ args: [who = '', ...texts], options, cli }) {
    const named = texts.map(readGrant);
    const client = await cli.client();
    const user = await findUser(client, who);
    const others = user.grants.filter((grant) => !named.some((one) => sameKind(one, grant)));
    const grants = options.revoke ? others : options.replace ? named : [...others, ...named];
    await client.users.setGrants(user.user_id, grants);
    cli.out.done(
      { user_id: user.user_id, name: user.name, grants },
      `${user.name} may: ${grants.map(grantText).join(' ') || 'nothing'}`,
    );
  },
});

/** A namespace has one grant of each kind: a new role there takes the place of the old one. */
function sameKind(a: Grant, b: Grant): boolean {
  return a.namespace === b.namespace && (a.own_only ?? false) === (b.own_only ?? false);
}
