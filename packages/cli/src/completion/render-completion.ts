/** Completion scripts, written from the list of commands: words of the program, its options, and their choices. */
import type { CompletionParts } from './completion-words.ts';
import { renderBash } from './render-bash.ts';
import { renderFish } from './render-fish.ts';
import { renderZsh } from './render-zsh.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const RENDERERS: Readonly<Record<Shell, (parts: CompletionParts) => string>> = {
  bash: renderBash,
  zsh: renderZsh,
  fish: renderFish,
};

export function renderCompletion(shell: Shell, parts: CompletionParts): string {
  return RENDERERS[shell](parts);
}
