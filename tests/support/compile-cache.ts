/**
 * For processes of Node that tests start: what one of them has compiled, the next one loads. Most of the start of a short command is the
 * reading of its sources, and some files start a hundred.
 */
import { join } from 'node:path';

/** In their environment. Inside the checkout: nobody else can put code there. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/compiled'),
};
