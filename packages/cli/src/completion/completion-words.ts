/** What completion scripts offer, read from the list of commands: the same for every shell. */
import type { CommandSpec, OptionSpec } from '../command.ts';
import { NOUNS } from '../program/global-options.ts';

export interface CompletionParts {
  readonly commands: readonly CommandSpec[];
  readonly globals: readonly OptionSpec[];
}

export interface Described {
  readonly word: string;
  readonly description: string;
}

/** A command line begins with one of these: nouns, and commands of one word. */
export function firstWords({ commands }: CompletionParts): Described[] {
  const words = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [noun = ''] = name.split(' ');
    words.set(noun, NOUNS[noun] ?? summary);
  }
  return [...words, ['help', 'Show help for a command'] as const].map(([word, description]) => ({
    word,
    description,
  }));
}

/** Each noun with its verbs. */
export function verbsByNoun({ commands }: CompletionParts): Map<string, Described[]> {
  const verbs = new Map<string, Described[]>();
  for (const { name, summary } of commands) {
    const [noun = '', verb] = name.split(' ');
    if (verb === undefined) continue;
    verbs.set(noun, [...(verbs.get(noun) ?? []), { word: verb, description: summary }]);
  }
  return verbs;
}

/** `--limit` and `-n`. */
export function flagsOf({ flags }: OptionSpec): string[] {
  return flags.match(/(?<![\w-])--?[a-z][\w-]*/g) ?? [];
}

export function longFlag(option: OptionSpec): string {
  return flagsOf(option).find((flag) => flag.startsWith('--')) ?? '';
}

export function takesValue({ flags }: OptionSpec): boolean {
  return flags.includes('<');
}

/** Words that stand for an argument. */
export function argumentChoices({ arguments: specs = [] }: CommandSpec): string[] {
  return specs.flatMap(({ choices = [] }) => choices);
}
