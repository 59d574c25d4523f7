/** Completion for fish: one line for each word, with where it may stand. */
import type { OptionSpec } from '../command.ts';
import {
  argumentChoices,
  type CompletionParts,
  firstWords,
  flagsOf,
  longFlag,
  takesValue,
  verbsByNoun,
} from './completion-words.ts';

export function renderFish(parts: CompletionParts): string {
  const lines = [
    '# carillon completion for fish: carillon completion fish | source',
    'complete -c carillon -f',
  ];
  for (const { word, description } of firstWords(parts))
    lines.push(`complete -c carillon -n __fish_use_subcommand -a ${word} -d ${quote(description)}`);
  for (const [noun, verbs] of verbsByNoun(parts)) {
    const all = verbs.map(({ word }) => word).join(' ');
    const where = `__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${all}`;
    for (const { word, description } of verbs)
      lines.push(`complete -c carillon -n ${quote(where)} -a ${word} -d ${quote(description)}`);
  }
  for (const spec of parts.commands) {
    const where = spec.name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
    const choices = argumentChoices(spec);
    if (choices.length > 0)
      lines.push(`complete -c carillon -n ${quote(where)} -a ${quote(choices.join(' '))}`);
    for (const option of spec.options ?? []) lines.push(optionLine(option, ` -n ${quote(where)}`));
  }
  for (const option of parts.globals) lines.push(optionLine(option, ''));
  return lines.join('\n');
}

function optionLine(option: OptionSpec, where: string): string {
  const short = flagsOf(option).find((flag) => !flag.startsWith('--'));
  const choices = option.choices ? ` -x -a ${quote(option.choices.join(' '))}` : ' -r -F';
  return [
    `complete -c carillon${where}`,
    ...(short ? [` -s ${short.slice(1)}`] : []),
    ` -l ${longFlag(option).slice(2)}`,
    takesValue(option) ? choices : '',
    ` -d ${quote(option.description)}`,
  ].join('');
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
