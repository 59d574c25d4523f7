/**
 * JSON and numbers as a person typed them. A number that JavaScript would round is told instead of being saved as another one: very
 * large integers, more digits than fit, and what would become infinite. Pure.
 */
import type { Json } from '@carillon/client';

export type ReadJson =
  | { readonly value: Json; readonly wrong?: undefined }
  | { readonly value?: undefined; readonly wrong: string; readonly isJson: boolean };

export function readJson(text: string): ReadJson {
  let rounded: string | undefined;
  try {
    // Browsers that do not tell the source of a value cannot be asked; the server refuses large integers itself.
    const value = JSON.parse(text, ((_name, part: unknown, told?: { source?: string }) => {
      if (typeof part !== 'number' || told?.source === undefined || rounded !== undefined) return part;
      const rounding = roundingOf(told.source);
      if (rounding !== undefined) rounded = `${rounding}: write it as a text, "${told.source}".`;
      return part;
    }) as (name: string, part: unknown) => unknown) as Json;
    return rounded === undefined ? { value } : { wrong: rounded, isJson: true };
  } catch (error) {
    return { wrong: `Not JSON yet: ${(error as Error).message}`, isJson: false };
  }
}

/** What would become of a number that is written like this; undefined: it is kept. */
export function roundingOf(source: string): string | undefined {
  const value = Number(source);
  if (decimalOf(source) === decimalOf(String(value))) return undefined;
  return Number.isFinite(value)
    ? `The number ${source} would be rounded to ${value}`
    : `The number ${source} is too large`;
}

/** Equal for equal numbers: 1.50, 15e-1 and 1.5. */
function decimalOf(source: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return '0';
  return `${sign}${digits}e${Number(power) - fraction.length + all.length - digits.length}`;
}
