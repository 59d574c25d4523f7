/**
 * What a job from a crontab is called. Whoever may list jobs reads their names, and commands carry passwords in every place: a name has the
 * program and what can only be a file, a flag or a word that says what to do, and of a call its host and path.
 */
import type { JsonObject } from '@carillon/client';

const NAME_CHARS_MAX = 60;
const WORDS_MAX = 3;

/** `payload`: of a line that became an http job. */
export function nameOfLine(command: string, payload?: JsonObject): string {
  const name = payload ? nameOfCall(payload) : nameOfCommand(command);
  return name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX - 1)}…` : name || 'crontab';
}

/** `POST example.org/ping`. */
function nameOfCall({ url, method }: JsonObject): string {
  const address = hostAndPath(String(url));
  return method === undefined || method === 'GET' ? address : `${method} ${address}`;
}

/** Long parts of letters and digits are what addresses have instead of a password, such as those of webhooks. */
const RANDOM_PART = /^(?=.*\d)(?=.*[a-z])[\w~+=.-]{12,}$/i;

function hostAndPath(url: string): string {
  const { host = '', pathname = '' } = URL.parse(url) ?? {};
  const parts = pathname.split('/').map((part) => (RANDOM_PART.test(part) ? '…' : part));
  return `${host}${parts.join('/')}`.replace(/\/$/, '');
}

const ASSIGNMENT = /^[A-Za-z_]\w*=/;
const FOLDER_FIRST = /^\s*cd\s+\S+\s*(?:&&|;)\s*/;
const TO_NOWHERE = /\s*(\d?>{1,2}\s*(\/dev\/null|&1)|&>\s*\/dev\/null)\s*/g;
const FLAG = /^--?[a-z][a-z-]*$/;
const FILE = /^(?:[\w.-]*\/[\w./-]+|[\w-]+\.[a-z]{2,4})$/;
/** Their next words say what to do. */
const DISPATCHERS = /^(?:php|npm|npx|pnpm|yarn|make|rake|rails|bundle|git|systemctl|apt-get)$/;

/** `/usr/local/bin/backup.sh --full > /dev/null` → `backup.sh --full`; `mysqldump -psecret shop` → `mysqldump`. */
function nameOfCommand(command: string): string {
  const plain = command.replace(FOLDER_FIRST, '').replaceAll(TO_NOWHERE, ' ').trim();
  const words = plain.split(/\s+/);
  const first = words.findIndex((word) => !ASSIGNMENT.test(word));
  const program = fileName(words[first] ?? '');
  if (!/^[\w.+-]+$/.test(program)) return '';
  const [url] = /https?:\/\/[^\s"'|;&<>]+/.exec(plain) ?? [];
  if (/^(?:curl|wget)$/.test(program) && url !== undefined) return `${program} ${hostAndPath(url)}`;
  const named = [program];
  const rest = words.slice(first + 1);
  for (const [i, word] of rest.entries()) {
    if (named.length === WORDS_MAX || !tellsNoSecret(word, rest[i + 1], program)) break;
    named.push(FLAG.test(word) ? word : fileName(word));
  }
  return named.join(' ');
}

/** What follows a flag may be its value, and so is what a flag of one letter is written together with. */
function tellsNoSecret(word: string, next: string | undefined, program: string): boolean {
  if (word.startsWith('-'))
    return word.startsWith('--') && FLAG.test(word) && (next === undefined || next.startsWith('--'));
  return FILE.test(word)
    ? !RANDOM_PART.test(fileName(word))
    : DISPATCHERS.test(program) && /^[a-z-]+$/.test(word);
}

function fileName(path: string): string {
  return path.split('/').findLast((part) => part !== '') ?? path;
}
