/** Handlers: what jobs can name, and what each takes. */
import { HANDLER_ORIGINS, type HandlerOrigin } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, jsonValue } from './answer.ts';

interface HandlerFacts {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: string | undefined;
  readonly origin: HandlerOrigin | undefined;
  readonly workers: number;
}

export const { answer: handlerAnswer, view: handlerView } = answerOf<HandlerFacts>('Handler')({
  name: [z.string().describe('As jobs name it.'), (handler) => handler.name],
  description: [z.string().nullable(), (handler) => handler.description ?? null],
  parameters: [
    z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('A JSON Schema of its payload, by which jobs are checked; null: it takes any.'),
    (handler) => jsonValue(handler.parameters) as Record<string, unknown> | null,
  ],
  origin: [
    z
      .enum(HANDLER_ORIGINS)
      .nullable()
      .describe(
        'Who brings it: Carillon itself, a plugin of the settings of a server, the program that embeds a server, a remote worker. null: its workers do not say.',
      ),
    (handler) => handler.origin ?? null,
  ],
  workers: [z.int().describe('Living workers that offer it.'), (handler) => handler.workers],
});
