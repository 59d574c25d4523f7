import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CLIENT_TYPES, renderClientTypes } from '../../scripts/generate-client-types.ts';

test('the types of the client are what the schemas of the contract say: otherwise run `npm run generate`', async () => {
  expect(await readFile(CLIENT_TYPES, 'utf8')).toBe(renderClientTypes());
});
