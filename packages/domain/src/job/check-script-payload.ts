/**
 * The payload of a script job, judged when the job is made: what could never be started is refused with the field to correct, instead
 * of failing at its first run. The worker reads the same fields again, for jobs that came another way. Members that are not
 * named here are data for the script, which reads the whole payload.
 */
import { refuseValue } from '../errors/refusal.ts';
import type { JsonObject, JsonValue } from '../ids.ts';
import { namesSecrets } from './secret-references.ts';

/** The built-in handler that runs programs. */
export const SCRIPT_HANDLER = 'script';

/** Labels by which a worker says what it runs: names with commas, folders with colons. */
export const SCRIPT_LABELS = { interpreters: 'script.interpreters', roots: 'script.roots' } as const;

const WORD = { type: ['string', 'number', 'boolean'] };

/** What the checks below say, as a JSON Schema, for people and forms. */
export const SCRIPT_PARAMETERS = {
  type: 'object',
  properties: {
    interpreter: {
      type: ['string', 'null'],
      description: 'A name, such as bash or python3. Left out: as the first line (#!) of the script says.',
    },
    script: { type: ['string', 'null'], description: 'The source of the script.' },
    code_location: {
      type: ['string', 'null'],
      description: 'Where the script is, instead of its source: an absolute path or an https address.',
    },
    sha256: {
      type: ['string', 'null'],
      pattern: '^([sS][hH][aA]256:)?[0-9a-fA-F]{64}$',
      description: 'The digest of the script. A script from an https address needs it.',
    },
    args: { type: ['array', 'null'], maxItems: 1_000, items: WORD, description: 'Its arguments.' },
    env: { type: ['object', 'null'], additionalProperties: WORD, description: 'Its variables.' },
    stdin: { type: ['string', 'null'], description: 'Its standard input. Left out: the payload.' },
    merge_output: {
      type: ['boolean', 'null'],
      description: 'One stream for both kinds of output, in exact order.',
    },
  },
  anyOf: [{ required: ['script'] }, { required: ['code_location'] }],
};

/** The members that decide what is run, and how. */
export const SCRIPT_MEMBERS = Object.keys(
  SCRIPT_PARAMETERS.properties,
) as readonly (keyof typeof SCRIPT_PARAMETERS.properties)[];

/** Names that people write for one of those: as data they would be ignored by everybody. */
const MISNAMED = new Map([
  ['arg', 'args'],
  ['argv', 'args'],
  ['arguments', 'args'],
  ['environment', 'env'],
  ['code', 'script'],
  ['shell', 'interpreter'],
  ['location', 'code_location'],
  ['checksum', 'sha256'],
]);

const INTERPRETER = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
const SHA256 = /^(sha256:)?[0-9a-f]{64}$/i;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const ARGS_MAX = 1_000;
const VARIABLES_MAX = 1_000;
/** Of one argument or variable: Linux takes no longer one. */
const WORD_BYTES_MAX = 128 * 1024 - 1;

/** Variables by which a program loads other code before the script, or reads the script as another language would. */
const FORBIDDEN =
  /^(LD_.*|DYLD_.*|PYTHON.*|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|ENV|PS4|IFS|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|PERL5OPT|PERL5LIB|PERL5DB|PERLLIB|PERLIO.*|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GCONV_PATH|GLIBC_TUNABLES|LUA_INIT.*|PHPRC|PHP_INI_SCAN_DIR)$/i;

export function checkScriptPayload(payload: JsonObject): void {
  const wrong = Object.keys(payload).find((name) => MISNAMED.has(name));
  if (wrong !== undefined)
    refuseValue(
      `payload.${wrong}`,
      `A script job knows no payload.${wrong}; use payload.${MISNAMED.get(wrong)}.`,
      'field_unknown',
    );
  checkSource(payload);
  checkInterpreter(payload.interpreter);
  checkArgs(payload.args);
  checkEnv(payload.env);
  if (isGiven(payload.stdin) && typeof payload.stdin !== 'string')
    refuseValue('payload.stdin', 'payload.stdin must be a text.');
  if (isGiven(payload.merge_output) && typeof payload.merge_output !== 'boolean')
    refuseValue('payload.merge_output', 'payload.merge_output must be true or false.');
}

/** Of a payload as it is stored, with its references: what stands in a command line can be read by every account of the machine. */
export function refuseSecretsInCommand({ args, script, code_location: location }: JsonObject): void {
  const refuse = (field: string, what: string) =>
    refuseValue(
      field,
      `${field} names a secret, and ${what} can be read by every account of the machine: hand it to the script in payload.env, in payload.stdin, or in another member of the payload, which the script reads from its payload file (CARILLON_PAYLOAD_FILE).`,
    );
  for (const [i, word] of (Array.isArray(args) ? args : []).entries())
    if (holdsSecret(word)) refuse(`payload.args[${i}]`, 'the arguments of a program');
  if (holdsSecret(location) && location.startsWith('/'))
    refuse('payload.code_location', 'the path of a program');
  const [firstLine] = typeof script === 'string' ? script.split('\n', 1) : [];
  if (firstLine?.startsWith('#!') && holdsSecret(firstLine))
    refuse('payload.script', 'what its first line passes to the interpreter');
}

function holdsSecret(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && namesSecrets(value);
}

function checkSource({ script, code_location: location, sha256 }: JsonObject): void {
  if (isGiven(script) === isGiven(location)) {
    const message = isGiven(script)
      ? 'payload.script and payload.code_location both say what to run: give one of them.'
      : 'A script job needs payload.script (its source) or payload.code_location (where it is).';
    refuseValue('payload.script', message, isGiven(script) ? 'field_conflict' : 'field_missing');
  }
  if (isGiven(script) && (typeof script !== 'string' || script.trim() === ''))
    refuseValue('payload.script', 'payload.script must be the source of a script, as a text.');
  if (isGiven(location)) checkLocation(location, sha256);
  if (isGiven(sha256) && (typeof sha256 !== 'string' || !SHA256.test(sha256)))
    refuseValue('payload.sha256', 'payload.sha256 must be 64 hexadecimal digits.');
}

function checkLocation(location: JsonValue | undefined, sha256: JsonValue | undefined): void {
  const field = 'payload.code_location';
  const isPath = typeof location === 'string' && location.startsWith('/') && !location.includes('\0');
  const isAddress = typeof location === 'string' && URL.canParse(location) && /^https:/i.test(location);
  if (!isPath && !isAddress)
    refuseValue(
      field,
      `${field} must be an absolute path or an https address, such as "/srv/scripts/report.py".`,
    );
  if (isAddress && !isGiven(sha256))
    refuseValue(
      'payload.sha256',
      'A script from an https address needs payload.sha256, the SHA-256 digest of what is there.',
      'field_missing',
    );
}

function checkInterpreter(value: JsonValue | undefined): void {
  if (!isGiven(value) || (typeof value === 'string' && INTERPRETER.test(value))) return;
  refuseValue(
    'payload.interpreter',
    'payload.interpreter is a name, such as "bash" or "python3". Leave it out to use the first line (#!) of the script.',
  );
}

function checkArgs(value: JsonValue | undefined): void {
  if (!isGiven(value)) return;
  if (!Array.isArray(value) || value.length > ARGS_MAX)
    refuseValue('payload.args', `payload.args must be a list of at most ${ARGS_MAX} texts.`);
  for (const [i, word] of value.entries())
    if (!isWord(word)) refuseValue(`payload.args[${i}]`, `payload.args[${i}] must be a text or a number.`);
}

function checkEnv(value: JsonValue | undefined): void {
  if (!isGiven(value)) return;
  const field = 'payload.env';
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    refuseValue(field, `${field} must be an object of texts.`);
  const entries = Object.entries(value);
  if (entries.length > VARIABLES_MAX)
    refuseValue(field, `${field} has more than ${VARIABLES_MAX} variables.`);
  for (const [name, content] of entries) {
    if (!VARIABLE.test(name)) refuseValue(field, `${field} has a name that no variable can have.`);
    const why = variableRefusal(name);
    if (why !== undefined) refuseValue(`${field}.${name}`, `${field}.${name} ${why}. Leave it out.`);
    if (!isWord(content)) refuseValue(`${field}.${name}`, `${field}.${name} must be a text or a number.`);
  }
}

/** Why a job may not set a variable; undefined where it may. */
export function variableRefusal(name: string): string | undefined {
  if (/^CARILLON_/i.test(name)) return 'is set by Carillon itself';
  return FORBIDDEN.test(name)
    ? 'would load other code into the interpreter, and is not allowed; set it inside the script'
    : undefined;
}

function isWord(value: JsonValue | undefined): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && !value.includes('\0') && value.length <= WORD_BYTES_MAX;
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
