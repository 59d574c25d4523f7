/** Short messages at the edge of the page: what was done, with a way to undo it, or what failed. */
export interface Notice {
  readonly id: number;
  readonly message?: string | undefined;
  readonly error?: unknown;
  /** A run that it led to. */
  readonly runId?: string | undefined;
  readonly undo?: (() => Promise<unknown>) | undefined;
}

const SHOWN_MS = 6_000;
/** With something to decide. */
const CHOICE_SHOWN_MS = 20_000;
const SHOWN_MAX = 4;
const listeners = new Set<() => void>();
let notices: readonly Notice[] = [];
let last = 0;

export function notify(notice: Omit<Notice, 'id'>): void {
  last += 1;
  const id = last;
  change([...notices, { ...notice, id }].slice(-SHOWN_MAX));
  // An error stays until it was read.
  if (notice.error !== undefined) return;
  const isChoice = notice.undo !== undefined || notice.runId !== undefined;
  setTimeout(() => dismiss(id), isChoice ? CHOICE_SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  change(notices.filter((notice) => notice.id !== id));
}

function change(to: readonly Notice[]): void {
  notices = to;
  for (const listener of listeners) listener();
}

export const noticeStore = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  now: () => notices,
};
