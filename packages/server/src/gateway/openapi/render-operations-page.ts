/** docs/operations.md, written from the table of operations and the calls of RPC; a test compares the file with it. */
import type { DescMethod } from '@bufbuild/protobuf';
import type { Access, Operation } from '../api/operation.ts';
import type { RpcMethod } from '../rpc/rpc-method.ts';

export function renderOperationsPage(table: readonly Operation[], methods: readonly RpcMethod[]): string {
  const tags = [...new Set(table.map(({ tag }) => tag))];
  const shown = new Set(table.flatMap(callsOf));
  const needs = new Map(methods.map(({ method, access }) => [method, access]));
  const others = methods.filter(({ method }) => !shown.has(method));
  return [
    '# Operations',
    '',
    'Every operation of the interface with its permission: over REST ([docs/api.md](api.md)) and over RPC ([docs/rpc.md](rpc.md)).',
    'Where there is no call, the reason stands in its place. The server writes this page from its table of operations.',
    ...tags.flatMap((tag) => [
      '',
      `## ${tag[0]!.toUpperCase()}${tag.slice(1)}`,
      '',
      '| operation | REST | RPC | permission |',
      '|---|---|---|---|',
      ...table.filter((operation) => operation.tag === tag).map((operation) => rowOf(operation, needs)),
    ]),
    '',
    '## Calls that only RPC has',
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

/** What does the same over RPC. */
export function callsOf({ rpc, calls = [] }: Operation): DescMethod[] {
  return [...[rpc ?? []].flat().map(({ method }) => method), ...calls];
}

/** needs: what each call asks for, shown where it is not what REST asks for. */
function rowOf(operation: Operation, needs: ReadonlyMap<DescMethod, Access>): string {
  const { summary, method, path, access, restOnly = '' } = operation;
  const rest = [method].flat().map((one) => `\`${one} /api${path}\``);
  const calls = callsOf(operation).map((call) => {
    const own = accessText(needs.get(call) ?? access);
    return `\`${call.name}\`${own === accessText(access) ? '' : ` (${own})`}`;
  });
  return `| ${summary} | ${rest.join(', ')} | ${calls.join(', ') || restOnly} | ${accessText(access)} |`;
}

function accessText(access: Access): string {
  if (access === 'open') return 'none';
  return access === 'self' ? 'any key or session' : [access].flat().join(', ');
}
