/** Completion for zsh, with what each word means beside it. */
import {
  argumentChoices,
  type CompletionParts,
  type Described,
  firstWords,
  flagsOf,
  longFlag,
  takesValue,
  verbsByNoun,
} from './completion-words.ts';

export function renderZsh(parts: CompletionParts): string {
  const { commands, globals } = parts;
  const twoWords = commands.filter(({ name }) => name.includes(' ')).map(({ name }) => `'${name}'`);
  const verbs = [...verbsByNoun(parts)].map(([noun, words]) => `    (${noun}) items=(${itemsOf(words)}) ;;`);
  const values = commands.flatMap(({ name, options = [] }) =>
    options.filter(takesValue).map((option) => {
      const patterns = flagsOf(option).map((flag) => `'${name} ${flag}'`);
      const offer = option.choices ? `compadd -- ${option.choices.map(quote).join(' ')}` : '_files';
      return `    (${patterns.join('|')}) ${offer}; return ;;`;
    }),
  );
  const options = commands.map((spec) => {
    const all = [...(spec.options ?? []), ...globals];
    const words = all.map((option) => ({ word: longFlag(option), description: option.description }));
    return `      ('${spec.name}') items=(${itemsOf(words)}) ;;`;
  });
  const choices = commands
    .filter((spec) => argumentChoices(spec).length > 0)
    .map(
      (spec) => `    ('${spec.name}') compadd -- ${argumentChoices(spec).map(quote).join(' ')}; return ;;`,
    );
  return `#compdef carillon
# carillon completion for zsh: carillon completion zsh > ~/.zfunc/_carillon, with ~/.zfunc in fpath
_carillon() {
  local -a items
  local noun='' verb='' skip='' command='' i
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]}
  for (( i = 2; i < CURRENT; i++ )); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case \${words[i]} in
      (${globals.filter(takesValue).flatMap(flagsOf).join('|')}) skip=1 ;;
      (-*|help) ;;
      (*) if [[ -z $noun ]]; then noun=\${words[i]}; elif [[ -z $verb ]]; then verb=\${words[i]}; fi ;;
    esac
  done
  if [[ -n $skip ]]; then _files; return; fi
  case "$noun $verb" in
    (${twoWords.join('|')}) command="$noun $verb" ;;
    (*) command=$noun ;;
  esac
  case "$command $previous" in
${values.join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $command in
${options.join('\n')}
      (*) items=(${itemsOf(globals.map((option) => ({ word: longFlag(option), description: option.description })))}) ;;
    esac
    _describe -o option items
    return
  fi
  case $command in
    ('') items=(${itemsOf(firstWords(parts))}) ;;
${verbs.join('\n')}
${choices.join('\n')}
    (*) _files; return ;;
  esac
  _describe command items
}
if [[ $funcstack[1] == _carillon ]]; then _carillon "$@"; else compdef _carillon carillon; fi`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function itemsOf(words: readonly Described[]): string {
  return words
    .map(({ word, description }) => quote(`${word}:${description.replaceAll(':', '\\:')}`))
    .join(' ');
}
