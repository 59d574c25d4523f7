import { systemClock } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { allOperations } from '../api/all-operations.ts';
import type { ApiContext } from '../api/operation.ts';
import { allMethods } from '../rpc/all-methods.ts';
import { renderOperationsPage } from './render-operations-page.ts';

test('docs/operations.md is what the table of operations says', async () => {
  const context = { operations: {}, address: '' } as unknown as ApiContext;
  const table = allOperations(context);
  const readiness = async () => ({ ready: true, reasons: [] });
  const methods = allMethods({ table, operations: context.operations, readiness, clock: systemClock });
  await expect(renderOperationsPage(table, methods)).toMatchFileSnapshot('../../../../../docs/operations.md');
});
