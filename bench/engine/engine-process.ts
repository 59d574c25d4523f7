/**
 * The process of one measurement: the engine, its handler and nothing else, so that its memory and its delays are the
 * engine's own. Takes its order from ask-engine.ts.
 */
import { answerParent } from '../ask-process.ts';
import { measureTurn, type TurnFigures, type TurnOrder } from '../fairness/measure-turn.ts';
import { type DelayFigures, type DelayOrder, measureDelay } from './measure-delay.ts';
import { type DrainFigures, type DrainOrder, measureDrain } from './measure-drain.ts';

type Order = DelayOrder | DrainOrder | TurnOrder;
type Figures = DelayFigures | DrainFigures | TurnFigures;

answerParent<Order, Figures>((order) => {
  switch (order.measure) {
    case 'delay':
      return measureDelay(order);
    case 'drain':
      return measureDrain(order);
    case 'turn':
      return measureTurn(order);
  }
});
