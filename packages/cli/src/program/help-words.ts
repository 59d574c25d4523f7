/** `help jobs create` and `jobs help create` in the words of the parser: `jobs create --help`. */
import type { CommandSpec } from '../command.ts';

export function helpWords(argv: readonly string[], commands: readonly CommandSpec[]): readonly string[] {
  const [first = '', second] = argv;
  const isNoun = (word: string) => commands.some(({ name }) => name.startsWith(`${word} `));
  let words: readonly string[];
  if (first === 'help') words = argv.slice(1);
  else if (second === 'help' && isNoun(first)) words = [first, ...argv.slice(2)];
  else return argv;
  const [noun = '', verb] = words.filter((word) => !word.startsWith('-'));
  const name = verb === undefined || !isNoun(noun) ? noun : `${noun} ${verb}`;
  const isKnown =
    noun === '' || name === 'help' || commands.some((spec) => spec.name === name) || isNoun(name);
  if (noun === 'help') return ['--help'];
  // Of a word that is none, the parser says which one is near; asked for help it would not.
  return isKnown ? [...name.split(' ').filter(Boolean), '--help'] : name.split(' ');
}

/** The longest beginning of a command line that names a command or a noun: whose --help is of use. */
export function namedBy(argv: readonly string[], commands: readonly CommandSpec[]): string | undefined {
  const [noun = '', verb = ''] = argv.filter((word) => !word.startsWith('-'));
  const names = commands.map(({ name }) => name);
  if (names.includes(`${noun} ${verb}`)) return `${noun} ${verb}`;
  return names.some((name) => name === noun || name.startsWith(`${noun} `)) ? noun : undefined;
}
