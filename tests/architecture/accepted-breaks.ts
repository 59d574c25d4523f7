/**
 * Breaks of the interface since the last release that are meant, word for word as the comparison reports them. Each is also
 * announced in CHANGELOG.md, as docs/compatibility.md says. A release empties this list, since its snapshot then holds them.
 */
export interface AcceptedBreak {
  readonly break: string;
  /** Why callers are better off, or cannot be harmed. */
  readonly why: string;
}

export const ACCEPTED_BREAKS: readonly AcceptedBreak[] = [];
