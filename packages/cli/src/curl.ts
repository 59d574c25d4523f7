/**
 * A line with `curl` or `wget` as an http job, where calling one address is all that it does: method, headers, body, password
 * and time limit are carried over. What cannot be carried over is said, and nothing is left out silently.
 */
import type { JsonObject } from '@carillon/client';
import { shellWords } from './shell-words.ts';

export interface HttpCall {
  readonly payload: JsonObject;
  readonly timeoutSeconds?: number;
  readonly maxRetries?: number;
  /** What is done otherwise than by the command. */
  readonly note?: string;
}

/** Undefined: it is no call at all. `reason`: why it stays a command. */
export type CallOfCommand = { readonly call: HttpCall } | { readonly reason: string } | undefined;

interface Draft {
  readonly urls: string[];
  method?: string;
  readonly headers: Record<string, string>;
  readonly data: string[];
  isQuery?: boolean;
  isHead?: boolean;
  timeoutSeconds?: number;
  maxRetries?: number;
  note?: string;
}

class Untranslatable extends Error {}

/** What an option does with its value. Options that take none are in QUIET. */
type Option = (draft: Draft, value: string) => void;

const setMethod: Option = (draft, value) => {
  draft.method = value.toUpperCase();
};
const setTimeLimit: Option = (draft, value) => {
  if (!(Number(value) > 0)) throw new Untranslatable(`"${value}" is not a time limit`);
  draft.timeoutSeconds = Number(value);
};
const setHeader: Option = ({ headers }, value) => {
  if (value.startsWith('@')) throw new Untranslatable('its headers come from a file');
  const [, name = '', content = ''] = /^([^:;]+)[:;]\s*(.*)$/.exec(value) ?? [];
  if (name === '') throw new Untranslatable(`"${value}" is not a header`);
  // Without a value it keeps curl from sending a header of its own.
  if (content !== '') setNamed(headers, name.trim(), content);
};
const addData: Option = ({ data }, value) => {
  if (value.startsWith('@')) throw new Untranslatable('its body comes from a file');
  data.push(value);
};
const addRaw: Option = ({ data }, value) => void data.push(value);
const addJson: Option = (draft, value) => {
  addData(draft, value);
  for (const name of ['Content-Type', 'Accept'])
    if (!hasNamed(draft.headers, name)) draft.headers[name] = 'application/json';
};
const addEncoded: Option = ({ data }, value) => {
  const [, name, content = value] = /^([^=@]*)=([\s\S]*)$/.exec(value) ?? [];
  if (name === undefined && value.includes('@')) throw new Untranslatable('its body comes from a file');
  data.push(`${name ? `${name}=` : ''}${encodeURIComponent(content)}`);
};
const setUser: Option = ({ headers }, value) => {
  if (!value.includes(':')) throw new Untranslatable('it asks for a password');
  setNamed(headers, 'Authorization', `Basic ${Buffer.from(value).toString('base64')}`);
};
const headerOf =
  (name: string): Option =>
  ({ headers }, value) =>
    setNamed(headers, name, value);
const setCookie: Option = ({ headers }, value) => {
  if (!value.includes('=')) throw new Untranslatable('its cookies come from a file');
  setNamed(headers, 'Cookie', value);
};
const toNowhere: Option = (_, value) => {
  if (value !== '/dev/null' && value !== '-') throw new Untranslatable(`it writes to ${value}`);
};
const setRetries: Option = (draft, value) => {
  if (!/^\d{1,2}$/.test(value)) throw new Untranslatable(`"${value}" is not a number of retries`);
  draft.maxRetries = Number(value);
};
const ignore: Option = () => undefined;

const CURL: Readonly<Record<string, Option>> = {
  ...{ '-X': setMethod, '--request': setMethod, '-m': setTimeLimit, '--max-time': setTimeLimit },
  ...{ '-H': setHeader, '--header': setHeader, '-d': addData, '--data': addData, '--data-ascii': addData },
  ...{ '--data-binary': addData, '--data-raw': addRaw, '--data-urlencode': addEncoded, '--json': addJson },
  ...{
    '-u': setUser,
    '--user': setUser,
    '-A': headerOf('User-Agent'),
    '--user-agent': headerOf('User-Agent'),
  },
  ...{ '-e': headerOf('Referer'), '--referer': headerOf('Referer'), '-b': setCookie, '--cookie': setCookie },
  ...{ '-o': toNowhere, '--output': toNowhere, '--retry': setRetries, '--oauth2-bearer': bearer },
  ...{ '--url': (draft, value) => void draft.urls.push(value), '--connect-timeout': ignore },
  ...{ '-w': ignore, '--write-out': ignore, '--retry-delay': ignore, '--retry-max-time': ignore },
};
const CURL_QUIET = new Set(
  (
    '-s --silent -S --show-error -f --fail --fail-with-body -v --verbose -i --include --compressed -N --no-buffer ' +
    '--no-progress-meter -# --progress-bar -4 --ipv4 -6 --ipv6 --http1.1 --http2 -g --globoff --retry-connrefused --retry-all-errors'
  ).split(' '),
);
const CURL_SWITCHES: Readonly<Record<string, (draft: Draft) => void>> = {
  '-L': asFollowing,
  '--location': asFollowing,
  '-I': asHead,
  '--head': asHead,
  '-G': asQuery,
  '--get': asQuery,
};
/** Understood, and not to be had: an http job checks certificates and keeps nothing in files. */
const REFUSED: Readonly<Record<string, string>> = {
  '-k': 'it does not check the certificate (-k)',
  '--insecure': 'it does not check the certificate (--insecure)',
  '--no-check-certificate': 'it does not check the certificate',
  '-O': 'it writes a file (-O)',
  '--remote-name': 'it writes a file (--remote-name)',
  '-F': 'it sends a form with parts (-F)',
  '--form': 'it sends a form with parts (--form)',
  '-T': 'it sends a file (-T)',
  '-x': 'it uses a proxy (-x)',
  '--proxy': 'it uses a proxy (--proxy)',
};

const WGET: Readonly<Record<string, Option>> = {
  ...{ '-O': toNowhere, '--output-document': toNowhere, '-T': setTimeLimit, '--timeout': setTimeLimit },
  ...{ '--header': setHeader, '--post-data': addRaw, '--body-data': addRaw, '--method': setMethod },
  ...{
    '-U': headerOf('User-Agent'),
    '--user-agent': headerOf('User-Agent'),
    '-t': wgetTries,
    '--tries': wgetTries,
  },
  ...{ '-o': toNowhere, '--output-file': toNowhere },
};
const WGET_QUIET = new Set('-q --quiet -nv --no-verbose -4 -6'.split(' '));
const WGET_SWITCHES = { '--spider': asHead };

export function callOfCommand(command: string, { hasInput = false } = {}): CallOfCommand {
  const [, program] = /^\s*(?:\/usr(?:\/local)?\/bin\/|\/bin\/)?(curl|wget)\s/.exec(command) ?? [];
  if (program === undefined) return undefined;
  const read = shellWords(command);
  if ('reason' in read) return { reason: read.reason };
  if (hasInput) return { reason: 'it gets a standard input (%)' };
  try {
    const draft = program === 'curl' ? readCurl(read.words.slice(1)) : readWget(read.words.slice(1));
    return { call: callOf(draft, program) };
  } catch (error) {
    if (error instanceof Untranslatable) return { reason: error.message };
    throw error;
  }
}

interface Tool {
  readonly options: Readonly<Record<string, Option>>;
  readonly quiet: ReadonlySet<string>;
  readonly switches: Readonly<Record<string, (draft: Draft) => void>>;
}

function readCurl(words: readonly string[]): Draft {
  return readWords(words, { options: CURL, quiet: CURL_QUIET, switches: CURL_SWITCHES });
}

/** wget writes a file unless it is told otherwise. */
function readWget(words: readonly string[]): Draft {
  const isSpider = words.includes('--spider');
  if (!isSpider && !words.some((word) => /^(-q?O|--output-document)/.test(word)))
    throw new Untranslatable('it writes a file; with -O /dev/null it would not');
  return readWords(words, { options: WGET, quiet: WGET_QUIET, switches: WGET_SWITCHES });
}

function readWords(words: readonly string[], { options, quiet, switches }: Tool): Draft {
  const draft: Draft = { urls: [], headers: {}, data: [] };
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (!word.startsWith('-') || word === '-') {
      draft.urls.push(word);
      continue;
    }
    const [, name = word, attached] = /^(--[^=]+)=([\s\S]*)$/.exec(word) ?? [];
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (quiet.has(name)) continue;
    if (Object.hasOwn(switches, name)) switches[name]?.(draft);
    else if (option) {
      const value = attached ?? left.shift();
      if (value === undefined) throw new Untranslatable(`${name} has no value`);
      option(draft, value);
    } else if (/^-[^-]./.test(word)) left.unshift(...unbundled(word, options));
    else throw new Untranslatable(REFUSED[name] ?? `${name} has no counterpart in an http job`);
  }
  return draft;
}

/** `-sXPOST` is `-s -X POST`: what follows the letter of an option that takes a value is that value. */
function unbundled(word: string, options: Tool['options']): string[] {
  const first = word.slice(0, 2);
  const rest = word.slice(2);
  return Object.hasOwn(options, first) ? [first, rest] : [first, `-${rest}`];
}

function callOf(draft: Draft, program: string): HttpCall {
  const { urls, headers, data, isQuery, timeoutSeconds, maxRetries, note } = draft;
  const [given, second] = urls;
  if (given === undefined) throw new Untranslatable('it names no address');
  if (second !== undefined) throw new Untranslatable('it calls more than one address');
  // curl makes several calls of [1-3] and {a,b}.
  if (program === 'curl' && /[{}[\]]/.test(given)) throw new Untranslatable('its address stands for several');
  const address = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new Untranslatable(`${given} is not an http address`);
  if (address.username !== '') {
    const login = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`;
    if (!hasNamed(headers, 'Authorization')) setUser(draft, login);
    [address.username, address.password] = ['', ''];
  }
  const joined = data.length === 0 ? undefined : data.join('&');
  const body = isQuery ? undefined : joined;
  if (isQuery && joined !== undefined)
    address.search = [address.search.slice(1), joined].filter(Boolean).join('&');
  if (body !== undefined && !hasNamed(headers, 'Content-Type'))
    headers['Content-Type'] = 'application/x-www-form-urlencoded';
  const method = draft.method ?? (draft.isHead ? 'HEAD' : body === undefined ? undefined : 'POST');
  // As it was written where that is a whole address: it is what people look for.
  const url = address.href === URL.parse(given)?.href ? given : address.href;
  return {
    payload: {
      url,
      ...(method !== undefined && { method }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(body !== undefined && { body }),
    },
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(note !== undefined && { note }),
  };
}

function bearer({ headers }: Draft, value: string): void {
  setNamed(headers, 'Authorization', `Bearer ${value}`);
}

function wgetTries(draft: Draft, value: string): void {
  setRetries(draft, String(Math.max(0, Number(value) - 1)));
}

function asFollowing(draft: Draft): void {
  draft.note = 'redirects are not followed (-L): if the address redirects, use the one it leads to';
}

function asHead(draft: Draft): void {
  draft.isHead = true;
}

function asQuery(draft: Draft): void {
  draft.isQuery = true;
}

function hasNamed(headers: Readonly<Record<string, string>>, name: string): boolean {
  return Object.keys(headers).some((one) => one.toLowerCase() === name.toLowerCase());
}

function setNamed(headers: Record<string, string>, name: string, value: string): void {
  const present = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase());
  headers[present ?? name] = value;
}
