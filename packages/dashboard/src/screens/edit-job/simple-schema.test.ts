import { HTTP_PARAMETERS } from '@carillon/domain';
import { expect, test } from 'vitest';
import { schemaFields } from './simple-schema.ts';

test('texts, numbers, choices and flags become inputs, everything else JSON', () => {
  const fields = schemaFields({
    type: 'object',
    required: ['width'],
    properties: {
      width: { type: 'integer', minimum: 1, description: 'In pixels.' },
      format: { enum: ['png', 'jpeg', null], default: 'png' },
      title: { type: ['string', 'null'] },
      sharp: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      any: {},
    },
  });
  expect(fields?.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    ...['width integer', 'format choice', 'title text', 'sharp flag', 'tags json', 'any json'],
  ]);
  expect(fields?.[0]).toMatchObject({ required: true, min: 1, description: 'In pixels.' });
  expect(fields?.[1]).toMatchObject({ required: false, options: ['png', 'jpeg'], fallback: 'png' });
});

test('a handler that takes anything is given JSON', () => {
  expect(schemaFields(null)).toBeUndefined();
  expect(schemaFields({ type: 'object' })).toBeUndefined();
  expect(schemaFields({ properties: {} })).toBeUndefined();
});

test('the schema of a built-in handler is understood', () => {
  expect(schemaFields(HTTP_PARAMETERS)?.map(({ kind }) => kind)).toContain('choice');
});
