export * from './errors/catalogue.ts';
export * from './errors/refusal.ts';
export * from './ids.ts';
export * from './schedule/schedule.ts';
