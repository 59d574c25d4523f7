/** Who may be waited for. For people: logged where something waited too long, and not sent by servers. */

/** Sessions that hold more than a read lock for a second or longer, the oldest first; one that changed or locked a row holds one on its table. */
export const LOCK_HOLDERS = `SELECT DISTINCT a.xact_start, a.pid, a.application_name, a.state FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'relation' AND l.granted AND l.mode <> 'AccessShareLock' AND a.xact_start < clock_timestamp() - interval '1 second' ORDER BY a.xact_start`;
