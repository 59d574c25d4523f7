/**
 * Contexts: servers by name, each with its address, the key to use there and the namespace that commands mean. They are kept
 * in one file that only its owner can read. What `carillon login` keeps is a context too.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from './errors.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The login that is kept between commands. */
export interface StoredLogin {
  readonly url: string;
  readonly key: string;
  /** Set when `login` made the key itself: `logout` then revokes it. */
  readonly keyId?: string;
  /** Who it is, for people. */
  readonly name?: string;
}

export interface Context extends Omit<StoredLogin, 'key'> {
  readonly key?: string;
  /** Of commands that list or create, where --namespace is not given. */
  readonly namespace?: string;
  /** Made by `context add`: it stays after `logout`. */
  readonly added?: boolean;
}

export interface Contexts {
  /** Used where no other one is named. */
  readonly current?: string | undefined;
  readonly all: Readonly<Record<string, Context>>;
}

const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/;

export function checkContextName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(
    `"${name}" cannot be the name of a context.`,
    'Use up to 63 letters, digits and . _ - with a letter or a digit first.',
  );
}

export function configFolder(env: Env): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'carillon');
}

/** Where logins and all other contexts are kept. */
export function loginFile(env: Env): string {
  return join(configFolder(env), 'contexts.json');
}

/** Before there were contexts, the one login had a file of its own: it is read until the first change. */
function formerLoginFile(env: Env): string {
  return join(configFolder(env), 'login.json');
}

export async function readContexts(env: Env): Promise<Contexts> {
  const stored = await readJson(loginFile(env));
  if (stored !== undefined) {
    if (!isContexts(stored.value)) throw damaged(stored.path);
    const { current, contexts } = stored.value;
    return { current, all: contexts };
  }
  const former = await readJson(formerLoginFile(env));
  if (former === undefined) return { all: {} };
  if (!isContext(former.value) || former.value.key === undefined) throw damaged(former.path);
  const name = nameFor(former.value.url, {});
  return { current: name, all: { [name]: former.value } };
}

function damaged(path: string): UsageError {
  return new UsageError(`${path} holds no login.`, 'Remove it and sign in again with `carillon login`.');
}

/** Written to another file and renamed: readers never see half of it, and others cannot read it at any moment. */
export async function writeContexts(env: Env, { current, all }: Contexts): Promise<string> {
  const path = loginFile(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const scratch = `${path}.${randomBytes(8).toString('hex')}`;
  const file = await open(scratch, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify({ current, contexts: all }, null, 2)}\n`);
    await file.chmod(0o600);
    await file.close();
    await rename(scratch, path);
  } catch (error) {
    await file.close();
    await rm(scratch, { force: true });
    throw error;
  }
  await rm(formerLoginFile(env), { force: true });
  return path;
}

export interface ChosenContext {
  readonly name: string;
  readonly context: Context;
}

/** The context that --context or CARILLON_CONTEXT names, else the current one. */
export async function chosenContext(env: Env): Promise<ChosenContext | undefined> {
  const { current, all } = await readContexts(env);
  const named = env.CARILLON_CONTEXT || undefined;
  const name = named ?? current;
  if (name === undefined) return undefined;
  const context = Object.hasOwn(all, name) ? all[name] : undefined;
  if (context) return { name, context };
  if (named === undefined) return undefined;
  throw new UsageError(
    `There is no context ${name}.`,
    '`carillon context list` shows them; `carillon context add` makes one.',
  );
}

/** Of the context in use; undefined where that has no key. */
export async function readLogin(env: Env): Promise<StoredLogin | undefined> {
  const { url, key, keyId, name } = (await chosenContext(env))?.context ?? {};
  if (url === undefined || key === undefined) return undefined;
  return { url, key, ...(keyId !== undefined && { keyId }), ...(name !== undefined && { name }) };
}

/**
 * Keeps a login in the context that was named, else in one of the same address (the current one first), else in a new one named
 * after the host; that context is the current one from then on.
 */
export async function writeLogin(env: Env, { url, key, keyId, name: who }: StoredLogin): Promise<string> {
  const { current, all } = await readContexts(env);
  const candidates = [current, ...Object.keys(all)].filter((one) => one !== undefined);
  const same = candidates.find((one) => sameServer(all[one]?.url, url));
  const name = env.CARILLON_CONTEXT || (same ?? nameFor(url, all));
  checkContextName(name);
  const { namespace, added } = all[name] ?? {};
  const kept = { ...(namespace !== undefined && { namespace }), ...(added && { added }) };
  const context: Context = {
    url,
    key,
    ...(keyId !== undefined && { keyId }),
    ...(who !== undefined && { name: who }),
    ...(sameServer(all[name]?.url, url) && kept),
  };
  return writeContexts(env, { current: name, all: { ...all, [name]: context } });
}

/** Forgets the key. A context that `context add` made stays, with its address and namespace. */
export async function removeLogin(env: Env): Promise<void> {
  const chosen = await chosenContext(env);
  if (!chosen) return;
  const { name, context } = chosen;
  const { current, all } = await readContexts(env);
  const { url, namespace, added } = context;
  const { [name]: _, ...others } = all;
  const stays: Context = { url, ...(namespace !== undefined && { namespace }), added: true };
  await writeContexts(env, {
    current: current === name && !added ? undefined : current,
    all: added ? { ...others, [name]: stays } : others,
  });
}

export function sameServer(a: string | undefined, b: string | undefined): boolean {
  const [one, other] = [a, b].map((url) => URL.parse(url ?? '')?.href.replace(/\/+$/, ''));
  return one !== undefined && one === other;
}

/** `carillon.example.org`, or `127.0.0.1-7420`; with a number where another address has that name. */
function nameFor(url: string, taken: Contexts['all']): string {
  const host = URL.parse(url)
    ?.host.replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 50);
  const base = host || 'server';
  for (let nth = 1; ; nth += 1) {
    const name = nth === 1 ? base : `${base}-${nth}`;
    if (!Object.hasOwn(taken, name)) return name;
  }
}

async function readJson(path: string): Promise<{ path: string; value: unknown } | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (text === undefined) return undefined;
  try {
    return { path, value: JSON.parse(text) as unknown };
  } catch {
    throw damaged(path);
  }
}

function isContexts(value: unknown): value is { current?: string; contexts: Contexts['all'] } {
  const { contexts } = (value ?? {}) as { contexts?: unknown };
  return typeof contexts === 'object' && contexts !== null && Object.values(contexts).every(isContext);
}

function isContext(value: unknown): value is Context {
  const { url, key } = (value ?? {}) as { url?: unknown; key?: unknown };
  return typeof url === 'string' && (key === undefined || typeof key === 'string');
}
