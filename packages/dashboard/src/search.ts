/** Reads the query of an address: what is not known, or has no value, is left out. */

type Reader<T> = (given: unknown) => T | undefined;

export const text: Reader<string> = (given) => {
  const value = typeof given === 'number' || typeof given === 'boolean' ? String(given) : given;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** A whole number from 0 on. */
export const whole: Reader<number> = (given) => {
  const value = typeof given === 'string' && given !== '' ? Number(given) : given;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
};

export const flag: Reader<boolean> = (given) =>
  given === true || given === 'true' ? true : given === false || given === 'false' ? false : undefined;

export function choice<const T extends string>(words: readonly T[]): Reader<T> {
  return (given) => words.find((word) => word === given);
}

type Readers = Readonly<Record<string, Reader<unknown>>>;
/** `ns`, the namespace that every screen is narrowed to, is part of every address. */
export type Search<R extends Readers> = { [K in keyof R]?: Exclude<ReturnType<R[K]>, undefined> } & {
  ns?: string;
};

export function readSearch<const R extends Readers>(
  readers: R,
): (given: Record<string, unknown>) => Search<R> {
  return (given) => {
    const found: Record<string, unknown> = {};
    for (const [name, read] of Object.entries({ ns: text, ...readers })) {
      const value = read(given[name]);
      if (value !== undefined) found[name] = value;
    }
    return found as Search<R>;
  };
}
