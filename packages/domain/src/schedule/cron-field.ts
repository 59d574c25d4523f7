/**
 * Reads one field of a cron expression: lists of values, ranges and steps. Every refusal names the field, the part that
 * is wrong, and what is allowed there.
 */
import { Refusal } from '../errors/refusal.ts';

export interface CronFieldSpec {
  readonly name: 'second' | 'minute' | 'hour' | 'day-of-month' | 'month' | 'day-of-week';
  readonly min: number;
  readonly max: number;
  /** JAN = 1 ... or SUN = 0 ... */
  readonly names?: Readonly<Record<string, number>>;
  /** What else the field understands, for the message. */
  readonly extras?: string;
}

export interface CronFieldContext {
  readonly spec: CronFieldSpec;
  /** The field of the request that holds the expression, for the refusal. */
  readonly field?: string;
}

export interface CronValues {
  /** Written `*` or `?`. */
  readonly any: boolean;
  readonly values: readonly number[];
}

/** Parts that takePart claims (L, W, # ...) are left to the caller; all others are values, ranges or steps. */
export function parseCronField(
  text: string,
  context: CronFieldContext,
  takePart: (part: string) => boolean = () => false,
): CronValues {
  const { spec } = context;
  if (text === '*' || text === '?') return { any: true, values: sequence(spec.min, lastValue(spec), 1) };
  const values = new Set<number>();
  for (const part of text.split(',')) {
    if (part === '') throw refuseField(text, 'has an empty place in its list', context);
    if (takePart(part)) continue;
    for (const value of parsePart(part, context)) values.add(value);
  }
  return { any: false, values: [...values].sort((a, b) => a - b) };
}

function parsePart(part: string, context: CronFieldContext): number[] {
  const { spec } = context;
  const [base = '', stepText, ...rest] = part.split('/');
  if (rest.length > 0) throw refuseField(part, 'has more than one "/"', context);
  const step = stepText === undefined ? 1 : parseStep(part, stepText, context);
  if (base === '*') return sequence(spec.min, lastValue(spec), step);
  const [fromText = '', toText, ...more] = base.split('-');
  if (more.length > 0) throw refuseField(part, 'is not a range; write it as from-to', context);
  const from = parseCronValue(fromText, context);
  if (toText === undefined)
    return sequence(from, stepText === undefined ? from : Math.max(from, lastValue(spec)), step);
  const to = parseRangeEnd(from, toText, context);
  if (to < from) {
    const instead = `${from}-${lastValue(spec)},${spec.min}-${to}`;
    throw refuseField(part, `runs backwards; write "${instead}" instead`, context);
  }
  return sequence(from, to, step);
}

/** A range of weekdays may end on Sunday (FRI-SUN, 5-0): Sunday is 7 there. */
function parseRangeEnd(from: number, toText: string, context: CronFieldContext): number {
  const to = parseCronValue(toText, context);
  return context.spec.name === 'day-of-week' && to === 0 && from > 0 ? 7 : to;
}

export function parseCronValue(text: string, context: CronFieldContext): number {
  const { spec } = context;
  const named = spec.names?.[text.toUpperCase()];
  if (named !== undefined) return named;
  if (!/^\d{1,4}$/.test(text)) {
    throw refuseField(text, text === '' ? 'lacks a value' : 'is not a value of this field', context);
  }
  const value = Number(text);
  if (value < spec.min) throw refuseField(text, `is below ${spec.min}`, context);
  if (value > spec.max) throw refuseField(text, `is above ${spec.max}`, context);
  return value;
}

function parseStep(part: string, text: string, context: CronFieldContext): number {
  const { spec } = context;
  if (!/^\d{1,4}$/.test(text)) throw refuseField(part, 'needs a whole number after "/"', context);
  const step = Number(text);
  if (step === 0) throw refuseField(part, 'has a step of 0', context);
  const stepMax = spec.max - spec.min;
  if (step > stepMax) {
    const reason = `has a step above ${stepMax}, and steps do not reach beyond the field: use an interval instead`;
    throw refuseField(part, reason, context);
  }
  return step;
}

export function refuseField(part: string, reason: string, context: CronFieldContext): Refusal {
  const { spec } = context;
  const names = spec.names === undefined ? '' : ` or ${Object.keys(spec.names).join(' ')}`;
  const extras = spec.extras === undefined ? '' : `, ${spec.extras}`;
  const allowed = `${spec.min}-${spec.max}${names}, *, ranges a-b, lists a,b, steps */n${extras}`;
  const message = `In the ${spec.name} field, "${part}" ${reason}. Allowed: ${allowed}.`;
  return new Refusal('cron_invalid', message, context.field === undefined ? {} : { field: context.field });
}

/** Where `*` ends: 7 is only another name of Sunday, which `*` begins with. */
function lastValue(spec: CronFieldSpec): number {
  return spec.name === 'day-of-week' ? 6 : spec.max;
}

function sequence(from: number, to: number, step: number): number[] {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
}
