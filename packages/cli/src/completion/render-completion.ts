/** Completion scripts, written from the list of commands: words of the program, its options, and their choices. */
import type { CommandSpec, OptionSpec } from '../command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Parts {
  readonly commands: readonly CommandSpec[];
  readonly globals: readonly OptionSpec[];
}

export function renderCompletion(shell: Shell, parts: Parts): string {
  switch (shell) {
    case 'bash':
      return renderBash(parts);
    case 'zsh':
      return renderZsh(parts);
    case 'fish':
      return renderFish(parts);
  }
}

/** First words, each with its verbs, if it has any. */
function wordsOf({ commands }: Parts): Map<string, { summary: string; verbs: Map<string, CommandSpec> }> {
  const words = new Map<string, { summary: string; verbs: Map<string, CommandSpec> }>();
  for (const spec of commands) {
    const [noun = '', verb] = spec.name.split(' ');
    const word = words.get(noun) ?? { summary: verb === undefined ? spec.summary : noun, verbs: new Map() };
    if (verb !== undefined) word.verbs.set(verb, spec);
    words.set(noun, word);
  }
  return words;
}

function flagsOf(options: readonly OptionSpec[] = []): string[] {
  return options.flatMap(({ flags }) => flags.match(/--?[a-z][\w-]*/g) ?? []);
}

function longFlag({ flags }: OptionSpec): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? '';
}

function renderBash(parts: Parts): string {
  const words = wordsOf(parts);
  const globals = [...flagsOf(parts.globals), '--help'].join(' ');
  const verbs = [...words]
    .filter(([, word]) => word.verbs.size > 0)
    .map(([noun, word]) => `    ${noun}) words='${[...word.verbs.keys()].join(' ')}' ;;`);
  const options = parts.commands.map((spec) => {
    const choices = (spec.arguments ?? []).flatMap((argument) => argument.choices ?? []);
    return `    '${spec.name}') words='${[...choices, ...flagsOf(spec.options), globals].join(' ')}' ;;`;
  });
  return `# carillon completion for bash: source <(carillon completion bash)
_carillon() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words='' noun='' verb=''
  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      -*) ;;
      *) if [[ -z $noun ]]; then noun="\${COMP_WORDS[i]}"; elif [[ -z $verb ]]; then verb="\${COMP_WORDS[i]}"; fi ;;
    esac
  done
  case "$noun" in
    '') words='${[...words.keys()].join(' ')} help ${globals} --version' ;;
${verbs.join('\n')}
  esac
  case "$noun\${verb:+ $verb}" in
${options.join('\n')}
    *) case "$noun" in
${parts.commands
  .filter(({ name }) => !name.includes(' '))
  .map((spec) => `      '${spec.name}') words='${[...flagsOf(spec.options), globals].join(' ')}' ;;`)
  .join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _carillon carillon`;
}

function renderZsh(parts: Parts): string {
  const words = wordsOf(parts);
  const quote = (text: string) => text.replaceAll("'", "'\\''").replaceAll(':', '\\:');
  const describe = (entries: Iterable<readonly [string, string]>) =>
    [...entries].map(([name, text]) => `'${name}:${quote(text)}'`).join(' ');
  const nouns = describe([...words].map(([noun, { summary }]) => [noun, summary] as const));
  const cases = [...words]
    .filter(([, { verbs }]) => verbs.size > 0)
    .map(([noun, { verbs }]) => {
      const verbWords = describe([...verbs].map(([verb, { summary }]) => [verb, summary] as const));
      return `      ${noun}) items=(${verbWords}) ;;`;
    });
  const options = parts.commands.map((spec) => {
    const all = [...(spec.options ?? []), ...parts.globals];
    const flags = describe(all.map((option) => [longFlag(option), option.description] as const));
    return `      '${spec.name}') items=(${flags}) ;;`;
  });
  return `#compdef carillon
# carillon completion for zsh: carillon completion zsh > ~/.zfunc/_carillon, with ~/.zfunc in fpath
_carillon() {
  local -a items
  local noun=\${words[2]} verb=\${words[3]}
  if (( CURRENT == 2 )); then
    items=(${nouns})
  elif (( CURRENT == 3 )) && [[ \${words[CURRENT]} != -* ]]; then
    case $noun in
${cases.join('\n')}
    esac
  fi
  if [[ \${words[CURRENT]} == -* ]]; then
    case "$noun $verb" in
${options.filter((line) => /'\w+ \w+'\)/.test(line)).join('\n')}
      *) case $noun in
${options.filter((line) => /'\w+'\)/.test(line)).join('\n')}
      esac ;;
    esac
  fi
  (( \${#items} )) && _describe carillon items || _files
}
_carillon "$@"`;
}

function renderFish(parts: Parts): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = [
    '# carillon completion for fish: carillon completion fish | source',
    'complete -c carillon -f',
  ];
  for (const [noun, { summary }] of wordsOf(parts))
    lines.push(`complete -c carillon -n __fish_use_subcommand -a ${noun} -d ${quote(summary)}`);
  for (const spec of parts.commands) {
    const [noun = '', verb] = spec.name.split(' ');
    const seen =
      verb === undefined
        ? `__fish_seen_subcommand_from ${noun}`
        : `__fish_seen_subcommand_from ${noun}; and __fish_seen_subcommand_from ${verb}`;
    if (verb !== undefined) {
      const without = `__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${verbsOf(parts, noun)}`;
      lines.push(`complete -c carillon -n ${quote(without)} -a ${verb} -d ${quote(spec.summary)}`);
    }
    for (const argument of spec.arguments ?? [])
      if (argument.choices)
        lines.push(`complete -c carillon -n ${quote(seen)} -a ${quote(argument.choices.join(' '))}`);
    for (const option of spec.options ?? []) lines.push(fishOption(option, { seen, quote }));
  }
  for (const option of parts.globals) lines.push(fishOption(option, { seen: undefined, quote }));
  return lines.join('\n');
}

function verbsOf(parts: Parts, noun: string): string {
  return [...(wordsOf(parts).get(noun)?.verbs.keys() ?? [])].join(' ');
}

function fishOption(
  option: OptionSpec,
  { seen, quote }: { seen: string | undefined; quote: (text: string) => string },
): string {
  const short = /(?:^|\s)-([a-z])\b/.exec(option.flags)?.[1];
  const takes = option.flags.includes('<') ? ' -r' : '';
  const choices = option.choices ? ` -a ${quote(option.choices.join(' '))}` : '';
  const where = seen === undefined ? '' : ` -n ${quote(seen)}`;
  return `complete -c carillon${where}${short ? ` -s ${short}` : ''} -l ${longFlag(option).slice(2)}${takes}${choices} -d ${quote(option.description)}`;
}
