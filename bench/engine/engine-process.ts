/**
 * The process of one measurement: the engine, its handler and nothing else, so that its memory and its delays are the
 * engine's own. Takes its order from ask-engine.ts.
 */
import { answerParent } from '../answer-parent.ts';
import { settleDatabase } from '../stores.ts';
import { type DelayFigures, type DelayOrder, measureDelay } from './measure-delay.ts';
import { type DrainFigures, type DrainOrder, measureDrain } from './measure-drain.ts';

answerParent<DelayOrder | DrainOrder, DelayFigures | DrainFigures>((order) =>
  order.measure === 'delay'
    ? measureDelay(order)
    : measureDrain(order, () => settleDatabase(order.databaseUrl)),
);
