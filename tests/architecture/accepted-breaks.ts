/**
 * Breaks of the interface since the last release that are meant, word for word as the comparison reports them. Each is also
 * announced in CHANGELOG.md, as docs/compatibility.md says. A release empties this list, since its snapshot then holds them.
 */
export interface AcceptedBreak {
  readonly break: string;
  /** Why callers are better off, or cannot be harmed. */
  readonly why: string;
}

const LEFT_OUT = 'Large values made lists of 50 MB; include=payload and include=result ask for them.';
const BOUNDED = 'No cursor that a server gave is empty or longer.';

const OF_NOBODY = 'Only of sessions that the admin key or a ticket opened, which there were none of.';

export const ACCEPTED_BREAKS: readonly AcceptedBreak[] = [
  { break: 'POST /api/session, answer 201.user: may now be null', why: OF_NOBODY },
  { break: 'GET /api/sessions, answer 200[].user_id: may now be null', why: OF_NOBODY },
  { break: 'GET /api/jobs, answer 200[].payload: is no longer always there', why: LEFT_OUT },
  { break: 'GET /api/jobs/{id}/runs, answer 200[].result: is no longer always there', why: LEFT_OUT },
  { break: 'GET /api/job/executions, answer 200[].result: is no longer always there', why: LEFT_OUT },
  {
    break: 'GET /api/dead-letters, query parameter redriven: removed',
    why: 'It is still understood, as the older name of handled.',
  },
  { break: 'GET /api/keys, query parameter after: minLength unset became 1', why: BOUNDED },
  { break: 'GET /api/keys, query parameter after: maxLength unset became 1000', why: BOUNDED },
  { break: 'GET /api/audit, query parameter before: minLength unset became 1', why: BOUNDED },
  { break: 'GET /api/audit, query parameter before: maxLength unset became 1000', why: BOUNDED },
];
