/**
 * A schema of payloads, compiled: says what is wrong with a payload, or nothing. A schema may come from a remote worker, who may mean
 * harm: it cannot refer to anything outside itself, and compiling and checking end after a bounded time (patterns and references can be
 * written so that they take years). Then the schema is not used.
 */
import { createContext, Script } from 'node:vm';
import { type JsonObject, Refusal } from '@carillon/domain';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';

/** A hundred times what the largest honest schema takes; short enough for everybody else to wait. */
export const BOUNDED_MS = 250;
const TRIES_MAX = 4;

export class SchemaUnusable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SchemaUnusable';
  }
}

export interface PayloadSchema {
  /** Throws a Refusal that names the member, or SchemaUnusable. */
  check(payload: JsonObject): void;
}

/**
 * Formats are remarks in this draft of JSON Schema, and libraries disagree on them. inlineRefs: copies of what is referred to could
 * multiply.
 */
const OPTIONS = { strict: false, validateFormats: false, inlineRefs: false, logger: false } as const;
let compiler: Ajv2020 | undefined;

/** text: a JSON object. trusted: it is the operator's own, and not bounded in time. Throws SchemaUnusable. */
export function compileSchema(text: string, { trusted }: { trusted: boolean }): PayloadSchema {
  const run = trusted ? <T>(prepare: () => () => T) => prepare()() : withinTime;
  const validate = usable(() =>
    run(() => {
      const ajv = readyCompiler();
      // Whatever fails, or is stopped half-way, may leave the compiler in any state.
      compiler = undefined;
      return () => {
        const made = compiled(ajv, text);
        compiler = ajv;
        return made;
      };
    }),
  );
  return {
    check(payload) {
      if (usable(() => verdictOf(run(() => () => validate(payload))))) return;
      const [error] = validate.errors ?? [];
      validate.errors = null;
      if (error) throw refusalOf(error);
    },
  };
}

/** Compiling the schema of schemas takes longer than those of workers: it is done once, before time is counted. */
function readyCompiler(): Ajv2020 {
  if (!compiler) {
    compiler = new Ajv2020(OPTIONS);
    compiler.validateSchema({});
  }
  return compiler;
}

function compiled(ajv: Ajv2020, text: string): ValidateFunction {
  // The draft may be named by any of its addresses, or be an older one: what both know means the same.
  const { $schema: _, ...schema } = JSON.parse(text) as Record<string, unknown>;
  const validate = ajv.compile(schema);
  // It would answer with a promise, whose failure nobody awaits.
  if ('$async' in validate) throw new Error('$async is not allowed');
  // The compiler would keep every schema it has seen, and refuse the next one with the same $id.
  ajv.removeSchema(schema);
  return validate;
}

function verdictOf(answer: unknown): boolean {
  if (typeof answer !== 'boolean') throw new Error('it neither accepts nor refuses a payload');
  return answer;
}

function usable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = (error as Partial<Error> | undefined)?.message ?? String(error);
    throw new SchemaUnusable(`the schema of its parameters cannot be used: ${reason}`, { cause: error });
  }
}

const bounded: { work?: () => unknown } = {};
const context = createContext(bounded);
const callWork = new Script('work()');

/**
 * The time limit of node:vm ends whatever runs, also what was not made in its context, and also inside a pattern. It goes by the clock:
 * on a busy machine it also ends what had no processor. A schema that took less than half of its time itself is tried again.
 * `prepare` makes the work of each try, and is not counted.
 */
export function withinTime<T>(prepare: () => () => T, cpuMs = cpuMsOfThread): T {
  for (let tries = 1; ; tries += 1) {
    bounded.work = prepare();
    const startedAt = cpuMs();
    try {
      return callWork.runInContext(context, { timeout: BOUNDED_MS }) as T;
    } catch (error) {
      const isOwnFault = !isTimeout(error) || cpuMs() - startedAt >= BOUNDED_MS / 2;
      if (isOwnFault || tries === TRIES_MAX) throw error;
    } finally {
      delete bounded.work;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

function cpuMsOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Names the member, such as payload.urls[0], and what it must be. */
function refusalOf({ instancePath, keyword, params, message = 'is not valid' }: ErrorObject): Refusal {
  const path = fieldOf(instancePath);
  switch (keyword) {
    case 'required': {
      const field = `${path}.${shown(params.missingProperty)}`;
      return new Refusal('field_missing', `${field} is missing.`, { field });
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const field = `${path}.${shown(params.additionalProperty ?? params.unevaluatedProperty)}`;
      return new Refusal('field_unknown', `The handler knows no ${field}.`, { field });
    }
    case 'enum':
      return invalid(path, `must be one of ${(params.allowedValues as unknown[]).map(jsonOf).join(', ')}`);
    case 'const':
      return invalid(path, `must be ${jsonOf(params.allowedValue)}`);
    case 'type':
      return invalid(path, `must be of type ${[params.type].flat().join(' or ')}`);
    default:
      return invalid(path, message);
  }
}

const MESSAGE_LENGTH_MAX = 500;

function invalid(field: string, demand: string): Refusal {
  const text = demand.length > MESSAGE_LENGTH_MAX ? `${demand.slice(0, MESSAGE_LENGTH_MAX)}…` : demand;
  return new Refusal('field_invalid', `${field} ${text.toWellFormed()}.`, { field });
}

/** A JSON pointer in the words of a request. */
function fieldOf(pointer: string): string {
  const steps = pointer.split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce(
    (path, name) => (/^\d+$/.test(name) ? `${path}[${name}]` : `${path}.${shown(name)}`),
    'payload',
  );
}

function shown(name: unknown): string {
  return String(name).slice(0, 64).toWellFormed();
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value);
}
