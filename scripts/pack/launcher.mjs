#!/usr/bin/env node
// The `carillon` command of an installed package.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { launch } from './bootstrap/launch.mjs';

const cache = process.env.XDG_CACHE_HOME || join(process.env.HOME || homedir(), '.cache');
await launch(new URL('../dist/cli/src/main.js', import.meta.url), { folder: join(cache, 'carillon') });
