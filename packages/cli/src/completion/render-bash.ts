/** Completion for bash. The line is cut at its spaces, because bash itself cuts addresses apart at every colon. */
import {
  argumentChoices,
  type CompletionParts,
  firstWords,
  flagsOf,
  takesValue,
  verbsByNoun,
} from './completion-words.ts';

export function renderBash(parts: CompletionParts): string {
  const { commands, globals } = parts;
  const twoWords = commands.filter(({ name }) => name.includes(' ')).map(({ name }) => `'${name}'`);
  const verbs = [...verbsByNoun(parts)].map(
    ([noun, described]) => `    ${noun}) words='${described.map(({ word }) => word).join(' ')}' ;;`,
  );
  const values = commands.flatMap(({ name, options = [] }) =>
    options.filter(takesValue).map((option) => {
      const patterns = flagsOf(option).map((flag) => `'${name} ${flag}'`);
      return `    ${patterns.join('|')}) words='${option.choices?.join(' ') ?? ''}' ;;`;
    }),
  );
  const globalFlags = globals.flatMap(flagsOf);
  const globalValues = globals.filter(takesValue).flatMap(flagsOf);
  const options = commands.map((spec) => {
    const flags = (spec.options ?? []).flatMap(flagsOf);
    return `    '${spec.name}') words='${[...argumentChoices(spec), ...flags].join(' ')}' ;;`;
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
      ${globalValues.join('|')}) skip=1 ;;
      -*) ;;
      help) ;;
      *) if [[ -z $noun ]]; then noun="\${typed[i]}"; elif [[ -z $verb ]]; then verb="\${typed[i]}"; fi ;;
    esac
  done
  COMPREPLY=()
  [[ -n $skip ]] && return
  case "$noun $verb" in
    ${twoWords.join('|')}) command="$noun $verb" ;;
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
    '') words='${firstWords(parts)
      .map(({ word }) => word)
      .join(' ')} --version' ;;
${verbs.join('\n')}
${options.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words ${globalFlags.join(' ')} --help" -- "$current"))
}
complete -o default -F _carillon carillon`;
}
