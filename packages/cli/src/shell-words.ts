/**
 * The words of a simple command of the shell, with quotes and backslashes read as sh reads them. A line that does anything
 * else (a pipe, a second command, a variable, a file it writes) is not simple, and the reason says what.
 */
export type ShellWords = { readonly words: readonly string[] } | { readonly reason: string };

/** To where output may go without being missed. */
const NOWHERE = new Set(['/dev/null', '&1', '&2']);
const OPERATORS: Readonly<Record<string, string>> = {
  '|': 'its output goes to another command (|)',
  ';': 'a second command follows (;)',
  '&': 'a second command follows (&); an address with & in it needs quotes',
  '(': 'it uses ( )',
  ')': 'it uses ( )',
  '<': 'it reads a file (<)',
  '`': 'it uses the output of another command (`)',
};

class NotSimple extends Error {}

export function shellWords(command: string): ShellWords {
  try {
    return { words: new Reader(command).read() };
  } catch (error) {
    if (error instanceof NotSimple) return { reason: error.message };
    throw error;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[] {
    const words: string[] = [];
    for (;;) {
      this.#match(/\s+/y);
      if (this.#at >= this.#text.length) return words;
      if (this.#match(/(?:\d?|&)>{1,2}\s*/y) !== undefined) this.#skipTarget();
      else words.push(this.#word());
    }
  }

  #skipTarget(): void {
    const duplicate = this.#match(/&\d/y);
    const target = duplicate ?? this.#word();
    if (!NOWHERE.has(target)) throw new NotSimple(`it writes to ${target}`);
  }

  #word(): string {
    let word = '';
    while (this.#at < this.#text.length) {
      const letter = this.#text[this.#at] ?? '';
      if (/[\s>]/.test(letter)) break;
      const operator = OPERATORS[letter];
      if (operator !== undefined) throw new NotSimple(operator);
      word += this.#part(letter);
    }
    return word;
  }

  #part(letter: string): string {
    if (letter === "'") {
      const quoted = this.#match(/'[^']*'/y);
      if (quoted === undefined) throw new NotSimple('a quote is not closed');
      return quoted.slice(1, -1);
    }
    if (letter === '"') return this.#doubleQuoted();
    if (letter === '$') throw this.#variable();
    if (letter === '\\') {
      this.#at += 2;
      return this.#text[this.#at - 1] ?? '';
    }
    this.#at += 1;
    return letter;
  }

  #doubleQuoted(): string {
    const quoted = this.#match(/"(?:[^"\\]|\\[\s\S])*"/y);
    if (quoted === undefined) throw new NotSimple('a quote is not closed');
    const inner = quoted.slice(1, -1);
    const expanded = /(?<!\\)(?:\\\\)*[$`]/.exec(inner);
    if (expanded) throw this.#variable();
    return inner.replaceAll(/\\(["\\$`])/g, '$1');
  }

  #variable(): NotSimple {
    return new NotSimple('it uses a variable or another command ($)');
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}
