/** Generations in memory: the state is never replaced, so a new one begins only when somebody asks for it. */
import type { GenerationCheck, GenerationStore } from '../generation-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryGenerationStore implements GenerationStore {
  readonly #state: MemoryState;
  #last: number | undefined;
  /** Begun here, and not reported yet. */
  #isUntold = false;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async look(): Promise<GenerationCheck> {
    const { generation } = this.#state;
    const isNew = this.#isUntold || (this.#last !== undefined && this.#last !== generation);
    this.#isUntold = false;
    this.#last = generation;
    return { generation, isNew };
  }

  async begin(): Promise<number> {
    this.#state.generation += 1;
    this.#state.events.beginGeneration(this.#state.generation);
    this.#isUntold = true;
    return this.#state.generation;
  }
}
