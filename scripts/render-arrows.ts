/** Writes the table of arrows into ARCHITECTURE.md, between its markers. Run it after editing architecture.ts. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARROWS_BEGIN, ARROWS_END, renderArrows } from '../architecture.ts';

const FILE = join(import.meta.dirname, '../ARCHITECTURE.md');

const text = await readFile(FILE, 'utf8').catch(() => `# Architecture\n\n${ARROWS_BEGIN}\n${ARROWS_END}\n`);
const begin = text.indexOf(ARROWS_BEGIN);
const end = text.indexOf(ARROWS_END);
if (begin < 0 || end < begin) throw new Error(`ARCHITECTURE.md needs ${ARROWS_BEGIN} … ${ARROWS_END}`);
await writeFile(FILE, `${text.slice(0, begin + ARROWS_BEGIN.length)}\n${renderArrows()}\n${text.slice(end)}`);
