/** How long streams of events wait, whichever door they go through. */

/** A stream without news shows this often that it lives; as often its caller's rights are looked at again. */
export const HEARTBEAT_MS = 15_000;
/** A connection that took nothing for so long, though there was something to take, is let go. */
export const STALLED_MS_MAX = 60_000;
