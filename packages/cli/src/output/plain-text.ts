/**
 * Text of others made harmless for a terminal: names, errors and results may hold control characters, and those could
 * move the cursor, change colours or lie about what stands where. Each is shown as what it is.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

export function plainText(text: string): string {
  return text.replace(CONTROL, (found) => {
    if (found === '\n') return '⏎';
    if (found === '\t') return ' ';
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** For blocks of text, where lines stay lines. */
export function plainLines(text: string): string {
  return text.split('\n').map(plainText).join('\n');
}
