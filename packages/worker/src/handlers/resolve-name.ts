/**
 * Finds the addresses of the names that jobs call. The way of the operating system takes one of very few threads of the process, for as
 * long as a name server is silent and also when nobody waits any more: a few names of one tenant would stop the calls of all. So name servers are asked
 * directly, and each question ends with its run. What only the system knows is asked of it where it has such sources, one name at a time.
 */
import { promises as dns, type LookupAddress, lookup as systemLookup } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';

export interface NameSources {
  readonly hostsFile?: string;
  readonly resolvFile?: string;
  readonly nsswitchFile?: string;
  /** Left out: those of the system. */
  readonly servers?: readonly string[];
  /** Asked for what name servers do not know. Left out: the system, where it has sources of its own. */
  readonly askSystem?: AskSystem | undefined;
}

export type AskSystem = (name: string) => Promise<readonly LookupAddress[]>;

const QUESTION = { timeout: 2_000, tries: 2 } as const;
/** More are refused: whoever comes then would wait for minutes. */
const SYSTEM_WAITING_MAX = 100;
const DNS_SOURCES = new Set(['files', 'dns']);
/** The server answered, and has no address of this name. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY']);

export class NameResolver {
  readonly #hosts: () => ReadonlyMap<string, readonly LookupAddress[]>;
  readonly #search: () => SearchRules;
  readonly #servers: readonly string[] | undefined;
  readonly #askSystem: AskSystem | undefined;

  constructor(sources: NameSources = {}) {
    this.#hosts = parsed(sources.hostsFile ?? '/etc/hosts', readHosts);
    this.#search = parsed(sources.resolvFile ?? '/etc/resolv.conf', readSearchRules);
    this.#servers = sources.servers;
    const ask = 'askSystem' in sources ? sources.askSystem : systemIfItKnowsMore(sources.nsswitchFile);
    this.#askSystem = ask && oneAtATime(ask);
  }

  /** Rejects with ENOTFOUND, or with EAI_AGAIN where no name server has answered. */
  async resolve(name: string, signal?: AbortSignal): Promise<readonly LookupAddress[]> {
    const known = this.#hosts().get(name.toLowerCase()) ?? reserved(name.toLowerCase());
    if (known?.length === 0) throw lookupError('ENOTFOUND', name);
    if (known) return known;
    for (const candidate of candidatesOf(name, this.#search())) {
      const found = await this.#query(candidate, signal);
      if (found.length > 0) return found;
    }
    const found = this.#askSystem && (await this.#askSystem(name));
    if (found && found.length > 0) return found;
    throw lookupError('ENOTFOUND', name);
  }

  /** None: the name is not known. */
  async #query(name: string, signal: AbortSignal | undefined): Promise<readonly LookupAddress[]> {
    // One for each question: to cancel is to cancel all of one.
    const resolver = new dns.Resolver(QUESTION);
    if (this.#servers) resolver.setServers(this.#servers);
    const cancel = () => resolver.cancel();
    if (signal?.aborted) throw lookupError('EAI_AGAIN', name);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const found = answers.flatMap((answer, i) =>
        answer.status === 'rejected'
          ? []
          : answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })),
      );
      const failed = answers.find(
        (answer) =>
          answer.status === 'rejected' && !UNKNOWN.has((answer.reason as NodeJS.ErrnoException).code ?? ''),
      );
      if (found.length === 0 && failed) throw lookupError('EAI_AGAIN', name);
      return found;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }
}

/** For the jobs of this process. */
export const jobNames = new NameResolver();

function lookupError(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code} ${hostname}`), { code, hostname });
}

/** No name server has to be asked (RFC 6761). None: nobody has such a name. */
function reserved(name: string): readonly LookupAddress[] | undefined {
  if (/(^|\.)localhost\.?$/.test(name)) return [{ address: '127.0.0.1', family: 4 }];
  return /(^|\.)invalid\.?$/.test(name) ? [] : undefined;
}

interface SearchRules {
  readonly domains: readonly string[];
  /** A name with so many dots is complete before any domain is tried. */
  readonly dotsMin: number;
}

function candidatesOf(name: string, { domains, dotsMin }: SearchRules): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const dots = name.split('.').length - 1;
  const completed = domains.map((domain) => `${name}.${domain}`);
  return dots >= dotsMin ? [name, ...completed] : [...completed, name];
}

function readHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const known = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (address === undefined || address === '') continue;
    for (const name of names.map((each) => each.toLowerCase())) {
      const entry = { address, family: address.includes(':') ? 6 : 4 };
      known.set(name, [...(known.get(name) ?? []), entry]);
    }
  }
  return known;
}

function readSearchRules(text: string): SearchRules {
  let domains: string[] = [];
  let dotsMin = 1;
  for (const line of text.split('\n')) {
    const [word, ...values] = line.trim().split(/\s+/);
    if (word === 'search' || word === 'domain')
      domains = values.map((each) => each.replace(/\.$/, '')).filter(Boolean);
    if (word !== 'options') continue;
    for (const value of values) {
      const [, dots] = /^ndots:(\d+)$/.exec(value) ?? [];
      if (dots !== undefined) dotsMin = Math.min(15, Number(dots));
    }
  }
  return { domains: domains.slice(0, 6), dotsMin };
}

/** Read again when the file has changed. Without the file: as if it were empty. */
function parsed<Content>(file: string, parse: (text: string) => Content): () => Content {
  let content: Content | undefined;
  let readAt: string | undefined;
  return () => {
    const changedAt = changeOf(file);
    if (content === undefined || changedAt !== readAt) content = parse(textOf(file));
    readAt = changedAt;
    return content;
  };
}

function changeOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs} ${found.size} ${found.ino}` : '';
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Such as names of the local network. On other systems than Linux nobody says what there is. */
function systemIfItKnowsMore(nsswitchFile = '/etc/nsswitch.conf'): AskSystem | undefined {
  const [, sources = ''] = /^hosts:(.*)$/m.exec(textOf(nsswitchFile)) ?? [];
  const names = sources
    .replace(/\[[^\]]*\]|#.*/g, ' ')
    .split(/\s+/)
    .filter(Boolean);
  if (process.platform === 'linux' && names.every((name) => DNS_SOURCES.has(name))) return undefined;
  return (name) =>
    new Promise((resolve, reject) => {
      systemLookup(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
    });
}

function oneAtATime(ask: AskSystem): AskSystem {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (name) => {
    if (waiting >= SYSTEM_WAITING_MAX) return Promise.reject(lookupError('EAI_AGAIN', name));
    waiting += 1;
    const answer = last.then(() => ask(name));
    last = answer
      .catch(() => undefined)
      .finally(() => {
        waiting -= 1;
      });
    return answer;
  };
}
