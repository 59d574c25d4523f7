import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { claimedRun } from './claimed-run.fixture.ts';
import { defineHandler, type TypedRun } from './define-handler.ts';
import { HandlerError } from './handler.ts';
import { RunInProgress } from './run-in-progress.ts';
import type { StandardSchemaV1 } from './standard-schema.ts';

const parameters = z.object({ urls: z.array(z.url()).min(1), width: z.int().default(100) });
const contextOf = (payload: object) =>
  new RunInProgress(claimedRun({ payload: JSON.stringify(payload) }), Date.UTC(2030, 0, 1));

describe('a handler with a typed payload', () => {
  const resize = defineHandler({
    name: 'resize',
    description: 'Resizes images.',
    parameters,
    run: ({ payload, runId, signal, isHeld, checkpoint }) => ({
      ...{ urls: payload.urls, width: payload.width, runId },
      ...{ aborted: signal.aborted, held: isHeld(), checkpoint: checkpoint.value },
    }),
  });

  test('has the payload as the schema reads it, with its defaults, and all else of the run', () => {
    expect(resize.run(contextOf({ urls: ['https://example.org/a'] }))).toEqual({
      ...{ urls: ['https://example.org/a'], width: 100, runId: 'run-1' },
      ...{ aborted: false, held: true, checkpoint: undefined },
    });
  });

  test('fails for good, with the issues, when the payload does not fit (hazard 21)', () => {
    const run = () => resize.run(contextOf({ urls: ['nonsense'], width: 'wide' }));
    expect(run).toThrow(HandlerError);
    expect(run).toThrow(
      expect.objectContaining({
        retryable: false,
        message: expect.stringMatching(
          /^the payload does not fit: payload\.urls\[0\]: .+; payload\.width: .+$/,
        ),
      }),
    );
  });

  test('publishes its parameters as JSON Schema, in the form that jobs are submitted in', () => {
    expect(resize.parameters).toMatchObject({
      type: 'object',
      required: ['urls'],
      properties: { width: { default: 100 } },
    });
  });

  test('is typed: the payload is what the schema puts out', () => {
    defineHandler({
      name: 'typed',
      parameters,
      run(run) {
        expectTypeOf(run.payload).toEqualTypeOf<{ urls: string[]; width: number }>();
        expectTypeOf(run).toEqualTypeOf<TypedRun<{ urls: string[]; width: number }>>();
        expectTypeOf(run.signal).toEqualTypeOf<AbortSignal>();
        // @ts-expect-error there is no such member
        return run.payload.height;
      },
    });
  });
});

describe('a schema of another library', () => {
  /** As small as one can be; it answers later, as some do. */
  const even: StandardSchemaV1<{ n: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) => {
        const { n } = value as { n: number };
        return n % 2 === 0
          ? { value: { n } }
          : { issues: [{ message: 'must be even', path: [{ key: 'n' }] }] };
      },
    },
  };

  test('is waited for', async () => {
    const { run, parameters: published } = defineHandler({
      name: 'even',
      parameters: even,
      run: ({ payload }) => payload.n / 2,
    });
    expect(published).toBeUndefined();
    expect(await run(contextOf({ n: 4 }))).toBe(2);
    await expect(run(contextOf({ n: 3 }))).rejects.toMatchObject({
      ...{ retryable: false, message: 'the payload does not fit: payload.n: must be even' },
    });
  });

  test('is published as the program writes it', () => {
    const toJSONSchema = (schema: typeof even) => ({ type: 'object', title: schema['~standard'].vendor });
    const { parameters: published } = defineHandler({
      ...{ name: 'even', parameters: even, toJSONSchema },
      run: () => undefined,
    });
    expect(published).toEqual({ type: 'object', title: 'test' });
  });
});
