/** SEED=123 replays one seed; SIMULATIONS=20000 runs more of them: see check-seeds.ts. */
import { describeSeeds } from './check-seeds.ts';

describeSeeds({ part: 1, parts: 2 });
