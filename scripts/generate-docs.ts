/** `node scripts/generate-docs.ts`: writes the pages and tables of the documentation that follow from the code. Tests compare them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@carillon/foundation';
import { ARROWS_BEGIN, ARROWS_END, renderArrows } from '../architecture.ts';
import { renderCliReference } from '../packages/cli/src/reference.ts';
import { renderErrorsPage } from '../packages/contract/src/index.ts';
import { renderConfigReference } from '../packages/server/src/config/render-config-reference.ts';
import { allOperations } from '../packages/server/src/gateway/api/all-operations.ts';
import type { ApiContext } from '../packages/server/src/gateway/api/operation.ts';
import { renderOperationsPage } from '../packages/server/src/gateway/openapi/render-operations-page.ts';
import { allMethods } from '../packages/server/src/gateway/rpc/all-methods.ts';

const ROOT = join(import.meta.dirname, '..');
const write = (page: string, text: string) => writeFileSync(join(ROOT, page), text);

const context = { operations: {}, address: '' } as ApiContext;
const table = allOperations(context);
const readiness = async () => ({ ready: true, reasons: [] });
const methods = allMethods({ table, operations: context.operations, readiness, clock: systemClock });
write('docs/operations.md', renderOperationsPage(table, methods));
write('docs/cli.md', renderCliReference());
write('docs/errors.md', renderErrorsPage());
write('docs/configuration.md', renderConfigReference());

const architecture = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const [before, after] = [architecture.split(ARROWS_BEGIN)[0], architecture.split(ARROWS_END)[1]];
write('ARCHITECTURE.md', `${before}${ARROWS_BEGIN}\n${renderArrows()}\n${ARROWS_END}${after}`);
