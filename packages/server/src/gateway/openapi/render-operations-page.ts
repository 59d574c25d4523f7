/** docs/operations.md, written from the table of operations and the calls of RPC; a test compares the file with it. */
import type { Access, Operation } from '../api/operation.ts';
import type { RpcMethod } from '../rpc/rpc-method.ts';

export function renderOperationsPage(table: readonly Operation[], methods: readonly RpcMethod[]): string {
  const tags = [...new Set(table.map(({ tag }) => tag))];
  const bound = new Set(table.flatMap(({ rpc }) => [rpc ?? []].flat().map(({ method }) => method)));
  const others = methods.filter(({ method }) => !bound.has(method as never));
  return [
    '# Operations',
    '',
    'Every operation of the interface with its permission: over REST ([docs/api.md](api.md)) and over RPC ([docs/rpc.md](rpc.md)).',
    'The server writes this page from its table of operations.',
    ...tags.flatMap((tag) => [
      '',
      `## ${tag[0]!.toUpperCase()}${tag.slice(1)}`,
      '',
      '| operation | REST | RPC | permission |',
      '|---|---|---|---|',
      ...table.filter((operation) => operation.tag === tag).map(rowOf),
    ]),
    '',
    '## Calls that RPC serves in its own way',
    '',
    '| call | service | permission |',
    '|---|---|---|',
    ...others.map(
      ({ method, access }) =>
        `| \`${method.name}\` | \`${method.parent.typeName}\` | ${accessText(access)} |`,
    ),
    '',
  ].join('\n');
}

function rowOf({ summary, method, path, access, rpc }: Operation): string {
  const rest = [method].flat().map((one) => `\`${one} /api${path}\``);
  const calls = [rpc ?? []].flat().map((binding) => `\`${binding.method.name}\``);
  return `| ${summary} | ${rest.join(', ')} | ${calls.join(', ')} | ${accessText(access)} |`;
}

function accessText(access: Access): string {
  if (access === 'open') return 'none';
  return access === 'self' ? 'any key or session' : [access].flat().join(', ');
}
