/** The configuration cannot be used. The message is for the person who wrote it: what is wrong, where, and what was meant. */
import { nearestWord } from '@carillon/contract';

export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

export function unknownName(what: string, name: string, known: readonly string[]): ConfigError {
  const nearest = nearestWord(name, known);
  const hint = nearest === undefined ? 'See --help for all of them.' : `Did you mean ${nearest}?`;
  return new ConfigError(`Unknown ${what} ${name}. ${hint}`);
}
