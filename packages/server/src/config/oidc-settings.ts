/** Settings of signing in with an OpenID Connect provider. */
import { parseGroupGrant } from '@carillon/domain';
import { z } from 'zod';

const LOOPBACK = /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?(\/|$)/;

export const oidcSettings = z
  .strictObject({
    issuer: z
      .url({ protocol: /^https?$/, error: 'must be an https:// address' })
      .refine((url) => url.startsWith('https:') || LOOPBACK.test(url), {
        error: 'must be an https:// address; http:// only on this machine',
      })
      .optional()
      .describe('OpenID Connect provider that people sign in with. Left out: none. See docs/sign-in.md.'),
    client_id: z.string().min(1).optional().describe('What the provider calls this Carillon.'),
    client_secret: z
      .string()
      .min(1)
      .optional()
      .describe('Secret of the client; better in the variable than in a flag. Left out: a public client.'),
    client_secret_file: z.string().min(1).optional().describe('File with the secret of the client.'),
    scopes: z
      .array(z.string().regex(/^[!#-[\]-~]+$/, { error: 'must be names of scopes' }))
      .default(['openid', 'profile', 'email'])
      .describe('What is asked for; some providers give groups only for a scope of its own.'),
    groups_claim: z
      .string()
      .min(1)
      .default('groups')
      .describe('Claim with the groups of a person; a path such as realm_access.roles works too.'),
    grants: z
      .array(
        z.string().refine((text) => parseGroupGrant(text) !== undefined, {
          error: 'must be group=role@namespace, such as staff=viewer@*',
        }),
      )
      .default([])
      .describe(
        "What groups are worth, as group=role@namespace; group * is everybody, namespace * all, and :own behind it only one's own jobs.",
      ),
    label: z.string().min(1).max(100).default('Single sign-on').describe('What the button says.'),
  })
  .superRefine((oidc, { addIssue }) => {
    const demand = (path: string, message: string) => addIssue({ code: 'custom', path: [path], message });
    if (oidc.issuer === undefined) return;
    if (oidc.client_id === undefined) demand('client_id', 'must be given, since oidc.issuer is');
    if (oidc.grants.length === 0) demand('grants', 'must be given, since oidc.issuer is');
    if (!oidc.scopes.includes('openid')) demand('scopes', 'must name openid');
    if (oidc.client_secret !== undefined && oidc.client_secret_file !== undefined)
      demand('client_secret_file', 'must be left out, since oidc.client_secret is given');
  })
  .prefault({});
