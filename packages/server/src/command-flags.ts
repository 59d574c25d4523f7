/** How the command finds a server, as the flags that people paste. */
import { join } from 'node:path';

/** What the command needs to find this server: nothing in its own folder, for it looks at ./.carillon. */
export function whereFlags(address: string, { data, cwd }: { data: string; cwd: string }): string {
  // The command takes an address from a folder only when it is on this machine.
  const isLocal = /\/\/(127\.\d+\.\d+\.\d+|localhost|\[::1?\]|0\.0\.0\.0)(:|\/|$)/.test(address);
  // With --url it takes the key only from a folder that is named as well.
  const folder = isLocal && data === join(cwd, '.carillon') ? '' : ` --data ${quoted(data)}`;
  return `${isLocal ? '' : ` --url ${address}`}${folder}`;
}

/** Inside double quotes and a command substitution, a path with spaces still wants quotes of its own. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
