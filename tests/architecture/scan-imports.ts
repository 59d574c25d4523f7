/**
 * Finds what a TypeScript file imports: static and dynamic imports, `export … from`, `import type`. A small scanner of our
 * own that knows comments, strings, templates and regular expressions, so that words in a text are never taken for imports.
 */

interface Token {
  readonly kind: 'word' | 'string' | 'mark';
  readonly text: string;
}

/** The module names, in the order they appear, each once. */
export function scanImports(source: string): string[] {
  const tokens = tokensOf(source);
  const found = new Set<string>();
  tokens.forEach((token, i) => {
    if (token.kind !== 'string') return;
    const before = tokens[i - 1];
    const two = tokens[i - 2];
    // `x.import(…)` and `.from` are members of something, not imports.
    const isMember = (at: number) => tokens[at]?.text === '.';
    if (before?.kind === 'word' && before.text === 'from' && !isMember(i - 2)) found.add(token.text);
    if (before?.kind === 'word' && before.text === 'import' && !isMember(i - 2)) found.add(token.text);
    if (before?.text === '(' && two?.kind === 'word' && two.text === 'import' && !isMember(i - 3))
      found.add(token.text);
  });
  return [...found];
}

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$]*|\d[\w.]*/uy;
/** After these a slash divides; after anything else it begins a regular expression. */
const ENDS_A_VALUE = /^[\w$)\]}]/;
const KEYWORDS_BEFORE_A_VALUE = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'do',
  'else',
  'await',
  'yield',
]);

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  /** For every open `${`, how many braces are open inside it. */
  const templates: number[] = [];
  let at = 0;
  const push = (kind: Token['kind'], text: string) => tokens.push({ kind, text });

  while (at < source.length) {
    const char = source[at]!;
    if (/\s/.test(char)) at += 1;
    else if (source.startsWith('//', at)) at = endOf(source, at, '\n');
    else if (source.startsWith('/*', at)) at = endOf(source, at + 2, '*/');
    else if (char === "'" || char === '"') {
      const end = closingQuote(source, at);
      push('string', source.slice(at + 1, end));
      at = end + 1;
    } else if (char === '`' || (char === '}' && templates.at(-1) === 0)) {
      if (char === '}') templates.pop();
      const { end, opened } = templatePart(source, at + 1);
      if (opened) templates.push(0);
      else push('mark', ')');
      at = end;
    } else if (char === '/' && beginsRegex(tokens.at(-1))) {
      at = endOfRegex(source, at);
      push('mark', ')');
    } else {
      WORD.lastIndex = at;
      const word = WORD.exec(source)?.[0];
      if (templates.length > 0 && (char === '{' || char === '}'))
        templates[templates.length - 1]! += char === '{' ? 1 : -1;
      push(word === undefined ? 'mark' : 'word', word ?? char);
      at += (word ?? char).length;
    }
  }
  return tokens;
}

function beginsRegex(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === 'string') return false;
  return KEYWORDS_BEFORE_A_VALUE.has(before.text) || !ENDS_A_VALUE.test(before.text);
}

function endOf(source: string, from: number, mark: string): number {
  const found = source.indexOf(mark, from);
  return found < 0 ? source.length : found + mark.length;
}

function closingQuote(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === source[from]) return at;
  }
  return source.length;
}

/** Up to the closing backtick, or into the next `${`. */
function templatePart(source: string, from: number): { end: number; opened: boolean } {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return { end: at + 1, opened: false };
    else if (source.startsWith('${', at)) return { end: at + 2, opened: true };
  }
  return { end: source.length, opened: false };
}

function endOfRegex(source: string, from: number): number {
  let inClass = false;
  for (let at = from + 1; at < source.length; at += 1) {
    const char = source[at];
    if (char === '\\') at += 1;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '\n' || (char === '/' && !inClass)) return at + 1;
  }
  return source.length;
}
