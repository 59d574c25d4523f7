/** What the cursor of a list tells people. Pure. */

/** How far back a list by time was read: its cursors begin with an instant. Undefined: a list in another order. */
export function instantOfCursor(cursor: string | undefined): string | undefined {
  return cursor?.match(/^(\d{4}-[\d-]+T[\d:.]+Z)_/)?.[1];
}
