#!/usr/bin/env node
// `carillon` in a clone of the repository; what people install has a launcher of its own.
import '../src/main.ts';
