/**
 * Judges imports by the table of arrows. Pure: it gets files and manifests as values, so that tests can show it a small
 * wrong project and see it object.
 */
import { EXEMPT, type Room, type RoomKind } from '../../architecture.ts';
import { scanImports } from './scan-imports.ts';

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Project {
  readonly files: readonly SourceFile[];
  /** npm packages that each package declares in its package.json. */
  readonly declared: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface WrongImport {
  readonly file: string;
  readonly imported: string;
  readonly rule: string;
}

/** `packages/server/src/gateway/x.ts` → `server/gateway/x.ts`. */
export function placeOf(path: string): string | undefined {
  const [, name, rest] = /^packages\/([^/]+)\/src\/(.+)$/.exec(path) ?? [];
  return name === undefined ? undefined : `${name}/${rest}`;
}

export function roomOf(path: string, rooms: readonly Room[]): Room | undefined {
  const place = placeOf(path);
  if (place === undefined) return undefined;
  let best: Room | undefined;
  for (const room of rooms) {
    const inside = place === room.name || place.startsWith(`${room.name}/`);
    if (inside && room.name.length > (best?.name.length ?? 0)) best = room;
  }
  return best;
}

export function isExempt(path: string): boolean {
  return EXEMPT.some(({ pattern }) => pattern.test(path));
}

export function wrongImports(project: Project, rooms: readonly Room[]): WrongImport[] {
  const paths = new Set(project.files.map((file) => file.path));
  const wrong: WrongImport[] = [];
  for (const { path, text } of project.files) {
    if (isExempt(path)) continue;
    const room = roomOf(path, rooms);
    for (const imported of scanImports(text)) {
      const rule = room
        ? brokenRule({ path, room, imported }, { paths, rooms, declared: project.declared })
        : 'this file is in no room of the table';
      if (rule !== undefined) wrong.push({ file: path, imported, rule });
    }
  }
  return wrong;
}

function brokenRule(
  { path, room, imported }: { path: string; room: Room; imported: string },
  world: { paths: ReadonlySet<string>; rooms: readonly Room[]; declared: Project['declared'] },
): string | undefined {
  const home = packageOf(path);
  if (imported.startsWith('node:')) {
    return room.name === 'domain' ? 'domain does no input and output: nothing of Node' : undefined;
  }
  if (imported.startsWith('.')) {
    const target = joined(path, imported);
    if (!target.startsWith(`packages/${home}/src/`))
      return 'another package is imported by its name, and what lies outside of packages not at all';
    if (!world.paths.has(target)) return `there is no file ${target}`;
    if (isExempt(target)) return 'tests and what belongs to them are not part of the product';
    return brokenArrow(room, roomOf(target, world.rooms));
  }
  const [, ours, beyond] = /^@carillon\/([^/]+)(\/.*)?$/.exec(imported) ?? [];
  if (ours !== undefined) {
    if (beyond !== undefined) return `a package is entered through its index only: @carillon/${ours}`;
    return brokenArrow(room, roomOf(`packages/${ours}/src/index.ts`, world.rooms));
  }
  const name = npmName(imported);
  if (!world.declared.get(home)?.has(name)) return `${name} is not declared in packages/${home}/package.json`;
  return room.npm?.includes(name) ? undefined : `${room.name} may not import the npm package ${name}`;
}

function brokenArrow(from: Room, to: Room | undefined): string | undefined {
  if (to === undefined) return 'what it imports is in no room of the table';
  if (from === to || from.imports.includes(to.name)) return undefined;
  return `no arrow from ${from.name} to ${to.name}`;
}

/** The laws the table itself obeys, so that nobody breaks the design by editing one row. */
export function unlawfulArrows(rooms: readonly Room[]): string[] {
  const kinds = new Map(rooms.map((room) => [room.name, room.kind]));
  const problems: string[] = [];
  for (const room of rooms) {
    for (const name of room.imports) {
      const kind = kinds.get(name);
      const law = kind === undefined ? 'is not in the table' : brokenLaw(room, { name, kind });
      if (law !== undefined) problems.push(`${room.name} → ${name}: ${law}`);
    }
  }
  return problems;
}

const LIBRARIES: readonly RoomKind[] = ['pure', 'package'];

function brokenLaw(from: Room, to: { name: string; kind: RoomKind }): string | undefined {
  const among = (...kinds: RoomKind[]) => LIBRARIES.includes(to.kind) || kinds.includes(to.kind);
  switch (from.kind) {
    case 'pure':
      return 'domain and foundation import nothing of ours';
    case 'package':
      return among() ? undefined : 'packages import packages';
    case 'door':
      return among('operations', 'service', 'port')
        ? undefined
        : 'the gateway knows services, operations and ports';
    case 'operations':
      return among('service', 'port') ? undefined : 'operations know the rules, services and ports';
    case 'service':
      return among('service', 'port') ? undefined : 'services know the rules, ports and other services';
    case 'role':
      return among('port') ? undefined : 'roles know ports: never each other, the gateway, or an adapter';
    case 'port':
      return among('port') ? undefined : 'a contract rests on the rules and other contracts';
    case 'adapter':
      return LIBRARIES.includes(to.kind) || isOwnPort(from, to.name) || from.drives?.includes(to.name)
        ? undefined
        : 'an adapter knows its own port and what it drives';
    case 'ground':
      return among('port', 'ground') ? undefined : 'the ground carries the house, not the other way round';
    case 'composition':
      return undefined;
  }
}

function isOwnPort(adapter: Room, port: string): boolean {
  return adapter.name.startsWith(`${port}/`);
}

/** Rooms without files, files and folders without a room, and adapters that hide in the folder of their port. */
export function misplaced(paths: readonly string[], rooms: readonly Room[]): string[] {
  const problems: string[] = [];
  for (const room of rooms) {
    if (!paths.some((path) => isIn(path, room)))
      problems.push(`${room.name} is in the table but not on disk`);
    for (const file of room.files ?? []) {
      const place = `${room.name}/${file}`;
      if (!paths.some((path) => placeOf(path) === place))
        problems.push(`${place} is in the table but not on disk`);
    }
  }
  for (const path of paths) {
    if (isExempt(path)) continue;
    const room = roomOf(path, rooms);
    if (!room) problems.push(`${path} is in no room of the table`);
    else if (room.kind === 'port' && !room.files?.includes(placeOf(path)!.slice(room.name.length + 1)))
      problems.push(`${path} is not a file of the port ${room.name}: give it a room of its own`);
  }
  return problems;
}

function isIn(path: string, room: Room): boolean {
  const place = placeOf(path);
  return place === room.name || place?.startsWith(`${room.name}/`) === true;
}

function packageOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function npmName(imported: string): string {
  return imported.split('/', imported.startsWith('@') ? 2 : 1).join('/');
}

function joined(path: string, relative: string): string {
  return new URL(relative, `file:///${path}`).pathname.slice(1);
}
