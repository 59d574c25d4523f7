/**
 * Judges imports by the table of arrows. Pure: it gets files and manifests as values, so that tests can show it a small
 * wrong project and see it object.
 */
import { EXEMPT, type Module, type ModuleKind } from '../../architecture.ts';
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

export function moduleOf(path: string, modules: readonly Module[]): Module | undefined {
  const place = placeOf(path);
  if (place === undefined) return undefined;
  let best: Module | undefined;
  for (const module of modules) {
    const inside = place === module.name || place.startsWith(`${module.name}/`);
    if (inside && module.name.length > (best?.name.length ?? 0)) best = module;
  }
  return best;
}

export function isExempt(path: string): boolean {
  return EXEMPT.some(({ pattern }) => pattern.test(path));
}

export function wrongImports(project: Project, modules: readonly Module[]): WrongImport[] {
  const paths = new Set(project.files.map((file) => file.path));
  const wrong: WrongImport[] = [];
  for (const { path, text } of project.files) {
    if (isExempt(path)) continue;
    const module = moduleOf(path, modules);
    for (const imported of scanImports(text)) {
      const rule = module
        ? brokenRule({ path, module, imported }, { paths, modules, declared: project.declared })
        : 'this file is in no module of the table';
      if (rule !== undefined) wrong.push({ file: path, imported, rule });
    }
  }
  return wrong;
}

function brokenRule(
  { path, module, imported }: { path: string; module: Module; imported: string },
  world: { paths: ReadonlySet<string>; modules: readonly Module[]; declared: Project['declared'] },
): string | undefined {
  const home = packageOf(path);
  if (imported.startsWith('node:')) {
    return module.name === 'domain' ? 'domain does no input and output: nothing of Node' : undefined;
  }
  if (imported.startsWith('.')) {
    const target = joined(path, imported);
    if (!target.startsWith(`packages/${home}/src/`))
      return 'another package is imported by its name, and what lies outside of packages not at all';
    // A style belongs to the file that imports it; the build finds those that are missing.
    if (target.endsWith('.css')) return undefined;
    if (!world.paths.has(target)) return `there is no file ${target}`;
    if (isExempt(target)) return 'tests and what belongs to them are not part of the product';
    return brokenArrow(module, moduleOf(target, world.modules));
  }
  const [, ours, beyond] = /^@carillon\/([^/]+)(\/.*)?$/.exec(imported) ?? [];
  if (ours !== undefined) {
    if (beyond !== undefined) return `a package is entered through its index only: @carillon/${ours}`;
    return brokenArrow(module, moduleOf(`packages/${ours}/src/index.ts`, world.modules));
  }
  const name = npmName(imported);
  if (!world.declared.get(home)?.has(name)) return `${name} is not declared in packages/${home}/package.json`;
  return module.npm?.includes(name) ? undefined : `${module.name} may not import the npm package ${name}`;
}

function brokenArrow(from: Module, to: Module | undefined): string | undefined {
  if (to === undefined) return 'what it imports is in no module of the table';
  if (from === to || from.imports.includes(to.name)) return undefined;
  return `no arrow from ${from.name} to ${to.name}`;
}

/** The laws the table itself obeys, so that nobody breaks the design by editing one row. */
export function unlawfulArrows(modules: readonly Module[]): string[] {
  const kinds = new Map(modules.map((module) => [module.name, module.kind]));
  const problems: string[] = [];
  for (const module of modules) {
    for (const name of module.imports) {
      const kind = kinds.get(name);
      const law = kind === undefined ? 'is not in the table' : brokenLaw(module, { name, kind });
      if (law !== undefined) problems.push(`${module.name} → ${name}: ${law}`);
    }
  }
  return problems;
}

const LIBRARIES: readonly ModuleKind[] = ['pure', 'package'];

function brokenLaw(from: Module, to: { name: string; kind: ModuleKind }): string | undefined {
  const among = (...kinds: ModuleKind[]) => LIBRARIES.includes(to.kind) || kinds.includes(to.kind);
  switch (from.kind) {
    case 'pure':
      return 'domain and foundation import nothing of ours';
    case 'package':
      return among() ? undefined : 'packages import packages';
    case 'gateway':
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

function isOwnPort(adapter: Module, port: string): boolean {
  return adapter.name.startsWith(`${port}/`);
}

/** Rooms without files, files and folders without a module, and adapters that hide in the folder of their port. */
export function misplaced(paths: readonly string[], modules: readonly Module[]): string[] {
  const problems: string[] = [];
  for (const module of modules) {
    if (!paths.some((path) => isIn(path, module)))
      problems.push(`${module.name} is in the table but not on disk`);
    for (const file of module.files ?? []) {
      const place = `${module.name}/${file}`;
      if (!paths.some((path) => placeOf(path) === place))
        problems.push(`${place} is in the table but not on disk`);
    }
  }
  for (const path of paths) {
    if (isExempt(path)) continue;
    const module = moduleOf(path, modules);
    if (!module) problems.push(`${path} is in no module of the table`);
    else if (module.kind === 'port' && !module.files?.includes(placeOf(path)!.slice(module.name.length + 1)))
      problems.push(`${path} is not a file of the port ${module.name}: give it a module of its own`);
  }
  return problems;
}

function isIn(path: string, module: Module): boolean {
  const place = placeOf(path);
  return place === module.name || place?.startsWith(`${module.name}/`) === true;
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
