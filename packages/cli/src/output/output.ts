/**
 * Everything a command says. Results go to the standard output, as tables and sentences for people or as JSON for
 * programs; progress, notes and errors go to the standard error, so that a pipe only ever gets results.
 */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pico from 'picocolors';
import type { Explained } from '../explain-error.ts';
import { type Column, renderTable } from './table.ts';
import { plainLines, plainText, showInstant } from './text.ts';
import { renderYaml } from './yaml.ts';

/** `wide`: tables with all columns, and nothing cut. */
export type Format = 'table' | 'wide' | 'json' | 'yaml';

export interface OutputOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly format: Format;
  readonly utc: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A fact without a text is not shown. */
export type Fact = readonly [name: string, text: string | null | undefined];

export type Paint = Pick<typeof pico, 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'>;

export class Output {
  /** For programs, as JSON or YAML. */
  readonly json: boolean;
  readonly paint: Paint;
  readonly #options: OutputOptions;
  /** The one that is being made. */
  #table: { readonly isNarrow: boolean; hasTimes: boolean } | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.json = isData(options.format);
    this.paint = pico.createColors(wantsColour(options));
  }

  /** A list: a table, or one JSON array; `json` where that array is another one. */
  list<T>(
    items: readonly T[],
    columns: readonly Column<T>[],
    { empty, json = items }: { empty: string; json?: unknown },
  ): void {
    if (this.json) this.#printData(json);
    else if (items.length === 0) this.note(empty);
    else this.#printTable(columns, items);
  }

  /** On a terminal columns are short of room: there its times have no offset, and the zone is said once. */
  #printTable<T>(columns: readonly Column<T>[], items: readonly T[]): void {
    const { width } = this;
    this.#table = { isNarrow: width !== undefined && !this.#options.utc, hasTimes: false };
    const text = renderTable(columns, items, { width, paintHeader: this.paint.dim });
    const { isNarrow, hasTimes } = this.#table;
    this.#table = undefined;
    this.#print(text);
    if (isNarrow && hasTimes) this.note(`Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`);
  }

  /** One thing: its facts below each other, or one JSON object. */
  record(value: unknown, facts: readonly Fact[]): void {
    if (this.json) {
      this.#printData(value);
      return;
    }
    const shown = facts.filter(([, text]) => text);
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, text] of shown) {
      const lines = plainLines(text ?? '').replaceAll('\n', `\n${' '.repeat(width + 2)}`);
      this.#print(`${this.paint.dim(name.padEnd(width))}  ${lines}`);
    }
  }

  /** What was done: a sentence, or the response of the server. */
  done(value: unknown, sentence: string): void {
    if (this.json) this.#printData(value);
    else this.#print(plainText(sentence));
  }

  /** One of several results, or of a stream: a line, one line of JSON, or one document of YAML. */
  entry(value: unknown, line: string): void {
    if (this.#options.format === 'yaml') this.#print(`---\n${renderYaml(value)}`);
    else this.#print(this.json ? JSON.stringify(value) : line.trimEnd());
  }

  /** Unchanged, such as a script. */
  /** As they are, to the end. */
  bytes(from: Readable): Promise<void> {
    return pipeline(from, this.#options.stdout, { end: false });
  }

  raw(text: string): void {
    this.#print(text);
  }

  /** For the person at the terminal only. */
  note(text: string): void {
    if (!this.json) this.#options.stderr.write(`${plainLines(text)}\n`);
  }

  warn(text: string): void {
    this.#options.stderr.write(`${this.paint.yellow('note:')} ${plainLines(text)}\n`);
  }

  failure({ message, fix, code, details }: Explained): void {
    const { stderr } = this.#options;
    if (this.json) {
      const error = { error: { code, message, fix, ...details } };
      stderr.write(`${this.#options.format === 'yaml' ? renderYaml(error) : JSON.stringify(error)}\n`);
      return;
    }
    stderr.write(`${this.paint.red('carillon:')} ${plainLines(message)}\n`);
    if (fix !== undefined) stderr.write(`          ${plainLines(fix)}\n`);
  }

  time(iso: string | null | undefined): string {
    const text = showInstant(iso, this.#options);
    if (!this.#table?.isNarrow) return text;
    this.#table.hasTimes ||= text !== '';
    return text.replace(OFFSET, '');
  }

  /** To the second, for tables. */
  shortTime(iso: string | null | undefined): string {
    return this.time(iso).replace(/\.\d{3}/, '');
  }

  /** For streams: on a terminal, where a person reads it at once, an instant of today has no date and no offset. */
  moment(iso: string | null | undefined): string {
    const text = this.time(iso);
    const today = showInstant(new Date().toISOString(), this.#options).slice(0, 10);
    if (!this.#options.stdout.isTTY || !text.startsWith(today)) return text;
    return this.#options.utc ? text.slice(11) : text.slice(11).replace(OFFSET, '');
  }

  /** For tables with many columns: on a terminal the time for today, else to the minute. */
  briefTime(iso: string | null | undefined): string {
    const text = this.shortTime(iso);
    if (!this.#options.stdout.isTTY) return text;
    const moment = this.moment(iso).replace(/\.\d{3}/, '');
    return moment === text ? text.replace(SECONDS, '') : moment;
  }

  /** For tables of 80 columns, half of them an id: on a terminal `at 15:20` for today, else `on` the day. */
  dayOrTime(iso: string): string {
    const text = this.briefTime(iso);
    if (!this.#options.stdout.isTTY) return `at ${text}`;
    return DAY.test(text) ? `on ${text.slice(0, 10)}` : `at ${text.replace(SECONDS, '')}`;
  }

  /** Of the terminal that results go to; undefined where they go elsewhere and nothing is cut. */
  get width(): number | undefined {
    const { stdout, format } = this.#options;
    return stdout.isTTY && format !== 'wide' ? stdout.columns : undefined;
  }

  /** Results go to a terminal, and not to a file or another program. */
  get isTerminal(): boolean {
    return this.#options.stdout.isTTY;
  }

  /** A word for how something is doing, in its colour. */
  state(word: string): string {
    const paint = STATE_COLOURS[word.toLowerCase()];
    return paint === undefined ? word : this.paint[paint](word);
  }

  /** For progress: the terminal to draw on, if there is one. */
  get terminal(): NodeJS.WriteStream | undefined {
    return !this.json && this.#options.stderr.isTTY ? this.#options.stderr : undefined;
  }

  #printData(value: unknown): void {
    this.#print(this.#options.format === 'yaml' ? renderYaml(value) : JSON.stringify(value, null, 2));
  }

  #print(text: string): void {
    this.#options.stdout.write(`${text}\n`);
  }
}

function isData(format: Format): boolean {
  return format === 'json' || format === 'yaml';
}

const DAY = /^\d{4}-/;
const OFFSET = /(?:Z|[+-]\d\d:\d\d)$/;
const SECONDS = /(?<=\d\d:\d\d):\d\d(?=(?:Z|[+-]\d\d:\d\d)?$)/;

const STATE_COLOURS: Readonly<Record<string, 'green' | 'red' | 'yellow' | 'cyan' | 'dim'>> = {
  success: 'green',
  completed: 'green',
  running: 'cyan',
  claimed: 'cyan',
  failed: 'red',
  timed_out: 'red',
  cancelled: 'yellow',
  paused: 'yellow',
  skipped: 'dim',
};

/** https://no-color.org: any value but an empty one. */
function wantsColour({ env, stdout, format }: OutputOptions): boolean {
  if (isData(format) || (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb') return false;
  return stdout.isTTY === true || (env.FORCE_COLOR ?? '') !== '';
}
