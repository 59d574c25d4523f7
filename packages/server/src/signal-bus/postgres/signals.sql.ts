/** The statement of the signal bus, and its channel. */
import { statement } from '../../postgres/database.ts';

/** Notifications stay within one database: servers on one database reach each other and nobody else. */
export const SIGNAL_CHANNEL = 'carillon_signals';

/** The payloads of one flush, one notification each. They arrive in this order, or none of them does. */
export const NOTIFY_ALL = statement('notify_all')`
  SELECT count(pg_notify($1::text, payload)) FROM unnest($2::text[]) AS payload`;
