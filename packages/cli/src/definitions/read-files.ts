/**
 * Files of job definitions: YAML or JSON, one job, a list of jobs, or several documents with a list under `jobs`. What is wrong is
 * said with its file, its line and its field, and everything that is wrong at once.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { JsonObject, KeyedJob } from '@carillon/client';
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type YAMLMap,
} from 'yaml';
import type { World } from '../cli.ts';
import { UsageError } from '../errors.ts';
import { readFileOrInput } from '../flags.ts';

/** The label of jobs that were applied as part of a set. */
export const SET_LABEL = 'carillon/set';

export interface JobSource {
  readonly job: KeyedJob;
  readonly file: string;
  /** Of the field, or of the job where it does not stand in the file. */
  readonly lineOf: (field: string | undefined) => number;
}

export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly field?: string | undefined;
  readonly message: string;
}

export interface Definitions {
  readonly jobs: readonly JobSource[];
  readonly problems: readonly Problem[];
  /** Those that the files name; undefined: where no namespace is named. */
  readonly namespaces: ReadonlySet<string | undefined>;
  readonly set: string | undefined;
}

export interface ReadOptions {
  readonly paths: readonly string[];
  readonly world: Pick<World, 'cwd' | 'stdin'>;
  /** Where a file names none. */
  readonly namespace: string | undefined;
  /** Instead of what files say. */
  readonly set: string | undefined;
}

export async function readDefinitions({ paths, world, namespace, set }: ReadOptions): Promise<Definitions> {
  const reader = new Reader({ namespace, set });
  for (const path of await filesOf(paths, world.cwd)) reader.read(path, await readFileOrInput(path, world));
  return reader.done();
}

const EXTENSION = /\.(ya?ml|json)$/i;

/** Folders stand for the files below them, in the order of their names. */
async function filesOf(paths: readonly string[], cwd: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const facts = path === '-' ? undefined : await stat(resolve(cwd, path)).catch(() => undefined);
    if (!facts?.isDirectory()) {
      found.push(path);
      continue;
    }
    const entries = await readdir(resolve(cwd, path), { recursive: true });
    const files = entries.filter((name) => EXTENSION.test(name)).sort();
    if (files.length === 0)
      throw new UsageError(
        `The folder ${path} has no files of jobs: none ends in .yaml, .yml or .json.`,
        'Name another folder, or a file.',
      );
    found.push(...files.map((name) => join(path, name)));
  }
  return found;
}

/** Such as `cron_expression: *` and `/15 * * * *`, where YAML reads the name of an anchor. */
const UNQUOTED_STAR = /^[\s-]*(\w+):\s+(\*.*?)\s*$/;

interface JobPlace {
  readonly document: Document.Parsed;
  readonly lineOf: (node: unknown) => number;
  /** Of the file, for all its jobs. */
  readonly namespace: string | undefined;
}

class Reader {
  readonly #options: Pick<ReadOptions, 'namespace' | 'set'>;
  readonly #jobs: JobSource[] = [];
  readonly #problems: Problem[] = [];
  readonly #namespaces = new Set<string | undefined>();
  readonly #known = new Map<string, JobSource>();
  #set: string | undefined;

  constructor(options: Pick<ReadOptions, 'namespace' | 'set'>) {
    this.#options = options;
    this.#set = options.set;
  }

  done(): Definitions {
    const set = this.#set;
    const jobs = set === undefined ? this.#jobs : this.#jobs.map((source) => inSet(source, set));
    return { jobs, problems: this.#problems, namespaces: this.#namespaces, set };
  }

  read(file: string, text: string): void {
    const lines = new LineCounter();
    const parsed = parseAllDocuments(text, { lineCounter: lines, merge: true });
    const documents = (Array.isArray(parsed) ? parsed : []) as Document.Parsed[];
    const rows = text.split('\n');
    const unquoted = new Set<number>();
    for (const document of documents) {
      for (const { pos, message } of document.errors) {
        const { line } = lines.linePos(pos[0]);
        const [problem = ''] = message.split(/ at line \d+/);
        const [, field, value] = UNQUOTED_STAR.exec(rows[line - 1] ?? '') ?? [];
        if (field === undefined) this.#problems.push({ file, line, message: `${problem}.` });
        else if (!unquoted.has(line)) {
          const fix = `put it in quotes: ${field}: "${value}"`;
          this.#problems.push({
            file,
            line,
            field,
            message: `A value that begins with * means something else in YAML; ${fix}.`,
          });
        }
        if (field !== undefined) unquoted.add(line);
      }
      if (document.errors.length === 0) this.#readDocument(file, document, lines);
    }
  }

  #readDocument(file: string, document: Document.Parsed, lines: LineCounter): void {
    const root = document.contents as Node | null;
    const lineOf = (node: unknown) => {
      const start = (node as Node | undefined)?.range?.[0];
      return start === undefined ? 1 : lines.linePos(start).line;
    };
    if (root === null || (isScalar(root) && root.value === null)) return;
    const problem = (message: string, at: unknown, field?: string) =>
      void this.#problems.push({ file, line: lineOf(at), message, ...(field !== undefined && { field }) });
    if (isSeq(root)) {
      for (const item of root.items) this.#readJob(file, item, { document, lineOf, namespace: undefined });
      return;
    }
    if (!isMap(root)) {
      problem('A file holds jobs: a map, or a list of them.', root);
      return;
    }
    if (!root.has('jobs')) {
      this.#readJob(file, root, { document, lineOf, namespace: undefined });
      return;
    }
    const { namespace, set, ...others } = root.toJS(document) as JsonObject;
    for (const name of Object.keys(others))
      if (name !== 'jobs')
        problem(`There is no field "${name}" beside jobs; there are namespace and set.`, root, name);
    for (const [name, value] of Object.entries({ namespace, set }))
      if (value !== undefined && typeof value !== 'string')
        problem(`${name} must be a text.`, root.get(name, true), name);
    if (typeof set === 'string')
      this.#nameSet(set, () =>
        problem('Files that are applied together have one set.', root.get('set', true), 'set'),
      );
    const items: unknown = root.get('jobs', true);
    const named = typeof namespace === 'string' ? namespace : undefined;
    this.#namespaces.add(named ?? this.#options.namespace);
    if (isSeq(items))
      for (const item of items.items) this.#readJob(file, item, { document, lineOf, namespace: named });
    else if ((root.get('jobs') ?? null) !== null) problem('jobs must be a list.', items, 'jobs');
  }

  #nameSet(set: string, refuse: () => void): void {
    if (this.#options.set !== undefined) return;
    if (this.#set !== undefined && this.#set !== set) refuse();
    this.#set = set;
  }

  #readJob(file: string, node: unknown, { document, lineOf, namespace }: JobPlace): void {
    const problem = (message: string, field?: string) =>
      void this.#problems.push({ file, line: lineOf(node), message, ...(field !== undefined && { field }) });
    if (!isMap(node)) {
      problem('A job is a map of its fields.');
      return;
    }
    const fields = node.toJS(document) as JsonObject;
    if (typeof fields.key !== 'string' || fields.key === '') {
      problem('A job needs a key: a text by which it is known.', 'key');
      return;
    }
    const home = fields.namespace ?? namespace ?? this.#options.namespace;
    const job = { ...fields, ...(home !== undefined && { namespace: home }) } as unknown as KeyedJob;
    const source: JobSource = { job, file, lineOf: (field) => lineOf(nodeAt(node, field)) };
    this.#namespaces.add(home as string | undefined);
    const name = `${String(home ?? '')} ${fields.key}`;
    const earlier = this.#known.get(name);
    if (earlier) {
      const place = `${earlier.file}:${earlier.lineOf(undefined)}`;
      problem(`The key ${fields.key} is used twice; the first is at ${place}.`, 'key');
      return;
    }
    this.#known.set(name, source);
    this.#jobs.push(source);
  }
}

/** The node of the field, or the nearest one around it. */
function nodeAt(job: YAMLMap, field: string | undefined): unknown {
  let node: unknown = job;
  for (const name of field?.split(/[.[\]]+/).filter(Boolean) ?? []) {
    const pair = isMap(node) ? node.items.find(({ key }) => String(key) === name) : undefined;
    if (!pair) break;
    node = pair.key;
    if (isMap(pair.value)) node = pair.value;
  }
  return node;
}

function inSet(source: JobSource, set: string): JobSource {
  const { job } = source;
  return { ...source, job: { ...job, labels: { ...job.labels, [SET_LABEL]: set } } };
}
