export * from './batch-buffer.ts';
export * from './clock.ts';
export * from './log.ts';
export * from './loop.ts';
export * from './manual-clock.ts';
export * from './min-heap.ts';
export * from './random.ts';
export * from './service.ts';
