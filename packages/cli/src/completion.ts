/** Completion scripts for shells, rendered from the list of commands: their words, their options and the choices of these. */
import type { CommandSpec } from './command.ts';
import { type Flag, GLOBAL_FLAGS, longFlag } from './flags.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletionParts {
  readonly commands: readonly CommandSpec[];
  /** Nouns with their descriptions. */
  readonly nouns: Readonly<Record<string, string>>;
}

export function renderCompletion(shell: Shell, parts: CompletionParts): string {
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell](parts);
}

interface Described {
  readonly word: string;
  readonly description: string;
}

/** The first word of a command line: nouns, and commands of one word. */
function firstWords({ commands, nouns }: CompletionParts): Described[] {
  const words = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [noun = ''] = name.split(' ');
    words.set(noun, nouns[noun] ?? summary);
  }
  words.set('help', 'Show help for a command');
  return [...words].map(([word, description]) => ({ word, description }));
}

/** Each noun with its verbs. */
function verbsByNoun({ commands }: CompletionParts): [noun: string, verbs: Described[]][] {
  const verbs = commands.flatMap(({ name, summary }) => {
    const [noun = '', word] = name.split(' ');
    return word === undefined ? [] : [{ noun, word, description: summary }];
  });
  return Object.entries(Object.groupBy(verbs, ({ noun }) => noun)).map(([noun, all = []]) => [noun, all]);
}

const GLOBALS = Object.values(GLOBAL_FLAGS);

function flagsOf({ options = {} }: CommandSpec): Flag<unknown>[] {
  return Object.values(options);
}

/** `-n` and `--limit`. */
function spellings({ flags }: Pick<Flag<unknown>, 'flags'>): string[] {
  return flags.match(/(?<![\w-])--?[a-z][\w-]*/g) ?? [];
}

function takesValue({ flags }: Flag<unknown>): boolean {
  return flags.includes('<');
}

function argumentChoices({ arguments: specs = [] }: CommandSpec): string[] {
  return specs.flatMap(({ choices = [] }) => choices);
}

function wordsOf(described: readonly Described[]): string {
  return described.map(({ word }) => word).join(' ');
}

/** The commands of two words, as a pattern of a shell's `case`. */
function twoWordPattern({ commands }: CompletionParts): string {
  const names = commands.map(({ name }) => name).filter((name) => name.includes(' '));
  return names.map((name) => `'${name}'`).join('|');
}

/** Every flag that takes a value: the command with the flag, as a pattern of a shell's `case`, and the choices. */
function valuePatterns({ commands }: CompletionParts): { pattern: string; choices?: readonly string[] }[] {
  return commands.flatMap((spec) =>
    flagsOf(spec)
      .filter(takesValue)
      .map(({ choices, ...flag }) => {
        const patterns = spellings(flag).map((spelling) => `'${spec.name} ${spelling}'`);
        return { pattern: patterns.join('|'), ...(choices && { choices }) };
      }),
  );
}

const GLOBALS_WITH_VALUE = GLOBALS.filter(takesValue).flatMap(spellings).join('|');

/** The line is split at its spaces, because bash itself splits addresses at every colon. */
function renderBash(parts: CompletionParts): string {
  const verbs = verbsByNoun(parts).map(([noun, all]) => `    ${noun}) words='${wordsOf(all)}' ;;`);
  const values = valuePatterns(parts).map(
    ({ pattern, choices = [] }) => `    ${pattern}) words='${choices.join(' ')}' ;;`,
  );
  const options = parts.commands.map((spec) => {
    const words = [...argumentChoices(spec), ...flagsOf(spec).flatMap(spellings)];
    return `    '${spec.name}') words='${words.join(' ')}' ;;`;
  });
  return `# carillon completion for bash: source <(carillon completion bash)
_carillon() {
  local line="\${COMP_LINE:0:COMP_POINT}" noun='' verb='' skip='' words='' command i
  local -a typed
  read -ra typed <<< "$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  local last=$((\${#typed[@]} - 1))
  local current="\${typed[last]}" previous="\${typed[last - 1]}"
  for ((i = 1; i < last; i++)); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "\${typed[i]}" in
      ${GLOBALS_WITH_VALUE}) skip=1 ;;
      -*) ;;
      help) ;;
      *) if [[ -z $noun ]]; then noun="\${typed[i]}"; elif [[ -z $verb ]]; then verb="\${typed[i]}"; fi ;;
    esac
  done
  COMPREPLY=()
  [[ -n $skip ]] && return
  case "$noun $verb" in
    ${twoWordPattern(parts)}) command="$noun $verb" ;;
    *) command="$noun" ;;
  esac
  # The value of an option: its choices, or a file.
  case "$command $previous" in
${values.join('\n')}
    *) words=- ;;
  esac
  if [[ $words != - ]]; then
    [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$command" in
    '') words='${wordsOf(firstWords(parts))} --version' ;;
${verbs.join('\n')}
${options.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words ${GLOBALS.flatMap(spellings).join(' ')} --help" -- "$current"))
}
complete -o default -F _carillon carillon`;
}

/** With the description of each word. */
function renderZsh(parts: CompletionParts): string {
  const verbs = verbsByNoun(parts).map(([noun, all]) => `    (${noun}) items=(${zshItems(all)}) ;;`);
  const values = valuePatterns(parts).map(({ pattern, choices }) => {
    const offer = choices ? `compadd -- ${choices.map(zshQuote).join(' ')}` : '_files';
    return `    (${pattern}) ${offer}; return ;;`;
  });
  const optionItems = (flags: readonly Flag<unknown>[]) =>
    zshItems(flags.map((flag) => ({ word: longFlag(flag), description: flag.description })));
  const options = parts.commands.map(
    (spec) => `      ('${spec.name}') items=(${optionItems([...flagsOf(spec), ...GLOBALS])}) ;;`,
  );
  const choices = parts.commands.flatMap((spec) => {
    const offered = argumentChoices(spec).map(zshQuote).join(' ');
    return offered === '' ? [] : [`    ('${spec.name}') compadd -- ${offered}; return ;;`];
  });
  return `#compdef carillon
# carillon completion for zsh: carillon completion zsh > ~/.zfunc/_carillon, with ~/.zfunc in fpath
_carillon() {
  local -a items
  local noun='' verb='' skip='' command='' i
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]}
  for (( i = 2; i < CURRENT; i++ )); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case \${words[i]} in
      (${GLOBALS_WITH_VALUE}) skip=1 ;;
      (-*|help) ;;
      (*) if [[ -z $noun ]]; then noun=\${words[i]}; elif [[ -z $verb ]]; then verb=\${words[i]}; fi ;;
    esac
  done
  if [[ -n $skip ]]; then _files; return; fi
  case "$noun $verb" in
    (${twoWordPattern(parts)}) command="$noun $verb" ;;
    (*) command=$noun ;;
  esac
  case "$command $previous" in
${values.join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $command in
${options.join('\n')}
      (*) items=(${optionItems(GLOBALS)}) ;;
    esac
    _describe -o option items
    return
  fi
  case $command in
    ('') items=(${zshItems(firstWords(parts))}) ;;
${verbs.join('\n')}
${choices.join('\n')}
    (*) _files; return ;;
  esac
  _describe command items
}
if [[ $funcstack[1] == _carillon ]]; then _carillon "$@"; else compdef _carillon carillon; fi`;
}

function zshQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function zshItems(words: readonly Described[]): string {
  const items = words.map(({ word, description }) => `${word}:${description.replaceAll(':', '\\:')}`);
  return items.map(zshQuote).join(' ');
}

/** One line for each word, with the condition under which it is offered. */
function renderFish(parts: CompletionParts): string {
  const seen = (words: string) => `__fish_seen_subcommand_from ${words}`;
  const offer = ({ word, description }: Described) => ` -a ${word} -d ${fishQuote(description)}`;
  const verbs = verbsByNoun(parts).flatMap(([noun, all]) => {
    const condition = fishQuote(`${seen(noun)}; and not ${seen(wordsOf(all))}`);
    return all.map((verb) => ` -n ${condition}${offer(verb)}`);
  });
  const options = parts.commands.flatMap((spec) => {
    const condition = fishQuote(spec.name.split(' ').map(seen).join('; and '));
    const choices = argumentChoices(spec).join(' ');
    return [
      ...(choices === '' ? [] : [` -n ${condition} -a ${fishQuote(choices)}`]),
      ...flagsOf(spec).map((flag) => ` -n ${condition}${fishOption(flag)}`),
    ];
  });
  const rules = [
    ' -f',
    ...firstWords(parts).map((word) => ` -n __fish_use_subcommand${offer(word)}`),
    ...verbs,
    ...options,
    ...GLOBALS.map(fishOption),
  ];
  const lines = rules.map((rule) => `complete -c carillon${rule}`);
  return ['# carillon completion for fish: carillon completion fish | source', ...lines].join('\n');
}

function fishOption(flag: Flag<unknown>): string {
  const short = spellings(flag).find((spelling) => !spelling.startsWith('--'));
  const value = flag.choices ? ` -x -a ${fishQuote(flag.choices.join(' '))}` : ' -r -F';
  return [
    short === undefined ? '' : ` -s ${short.slice(1)}`,
    ` -l ${longFlag(flag).slice(2)}`,
    takesValue(flag) ? value : '',
    ` -d ${fishQuote(flag.description)}`,
  ].join('');
}

function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
