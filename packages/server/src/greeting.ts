/** What `npm start` prints once jobs can run: where it is, where the key is, and a line that works when pasted as it is. */
import { dirname } from 'node:path';
import { quoted, whereFlags } from './command-flags.ts';
import type { StartedServer } from './start-server.ts';

/** A test holds it against the manifest: what is packed has no manifest beside it. */
export const VERSION = '0.1.0';

/** Roles that answer requests. */
const ANSWERING: readonly string[] = ['gateway', 'reads', 'writes'];

export interface GreetingOptions {
  /** Where the server was started, and where its commands are probably typed. */
  readonly cwd: string;
  /** Signs in once. It is written here and nowhere else. */
  readonly signInLink?: string | undefined;
}

export function greeting(server: StartedServer, { cwd, signInLink }: GreetingOptions): string {
  const { address, adminKeyFile, database, roles } = server;
  if (roles.includes('gateway') && roles.includes('engine'))
    return wholeGreeting(server, { cwd, signInLink });
  return `
Carillon ${VERSION} is ready as ${roles.join(' and ')}.

  address    ${address}${roles.some((role) => ANSWERING.includes(role)) ? '' : ' (health and metrics)'}
  admin key  ${adminKeyFile}
  database   ${database}
${signInLine(signInLink)}
Stop with Ctrl-C.
`;
}

function signInLine(link: string | undefined): string {
  return link === undefined ? '' : `  sign in    ${link} (once, within 10 minutes)\n`;
}

function wholeGreeting(
  { address, adminKeyFile, database }: StartedServer,
  { cwd, signInLink }: GreetingOptions,
): string {
  const where = whereFlags(address, { data: dirname(adminKeyFile), cwd });
  const key = `"Authorization: Bearer $(cat ${quoted(adminKeyFile)})"`;
  return `
Carillon ${VERSION} is ready.

  address    ${address} (the interface described: ${address}/api/docs)
  admin key  ${adminKeyFile}
  database   ${database}
${signInLine(signInLink)}
Run a first job (paste it as it is):

  curl -X POST ${address}/api/jobs -H ${key} \\
    -H 'Content-Type: application/json' \\
    -d '{"name": "hello", "handler": "http", "payload": {"url": "${address}/health/live"}}'

and look at what came of it:

  curl -H ${key} ${address}/api/jobs

From the command line (npx carillon in a clone):

  carillon jobs list${where}
  carillon events -f${where}
  carillon --help

Stop with Ctrl-C.
`;
}
