/** What was typed and not saved, kept for this tab: it survives a sign-in, a reload and a wrong click. */
import type { Body } from './job-body.ts';

export interface Draft {
  readonly body: Body;
  /** The JSON as it was typed, where it is not JSON yet. */
  readonly text?: string | undefined;
  /** The job as it was when the editing began; a new job has none. */
  readonly base?: { readonly body: Body; readonly version: number } | undefined;
}

/** Longer ones would fill the storage of the tab. */
const LENGTH_MAX = 600_000;

function keyOf(id: string): string {
  return `carillon.draft.${id}`;
}

export function readDraft(id: string): Draft | undefined {
  try {
    const stored = sessionStorage.getItem(keyOf(id));
    return stored === null ? undefined : (JSON.parse(stored) as Draft);
  } catch {
    return undefined;
  }
}

export function keepDraft(id: string, draft: Draft): void {
  try {
    const text = JSON.stringify(draft);
    if (text.length <= LENGTH_MAX) sessionStorage.setItem(keyOf(id), text);
  } catch {
    // A browser that keeps nothing forgets the draft with the page.
  }
}

export function dropDraft(id: string): void {
  try {
    sessionStorage.removeItem(keyOf(id));
  } catch {
    // There was nothing kept.
  }
}

/** With a sign-out: whoever signs in next in this tab is somebody else. */
export function dropAllDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(keyOf(''))) sessionStorage.removeItem(key);
  } catch {
    // There was nothing kept.
  }
}
