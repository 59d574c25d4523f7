#!/usr/bin/env node
// `carillon` in a clone of the repository; what people install has a launcher of its own.
import { fileURLToPath } from 'node:url';
import { launch } from '../../../scripts/bootstrap/launch.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
await launch(new URL('../src/main.ts', import.meta.url), { folder: root });
