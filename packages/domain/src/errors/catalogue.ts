/**
 * Every refusal Carillon can answer, in one table: the code programs match on, the HTTP status the gateway maps it to,
 * and what the reader can do about it. Messages with the particulars are written where the refusal is raised.
 */
export const CATALOGUE = {
  body_not_json: { status: 400, fix: 'Send a JSON object with Content-Type: application/json.' },
  content_type_unsupported: {
    status: 415,
    fix: 'Send JSON with the header "Content-Type: application/json".',
  },
  body_too_large: {
    status: 413,
    fix: 'Send a smaller body, with large data kept elsewhere and a reference to it; or raise the setting body_limit_kb.',
  },
  request_malformed: { status: 400, fix: 'Send a valid HTTP request; an HTTP library does.' },
  host_not_allowed: {
    status: 421,
    fix: 'Address the server by a name of this machine or by its public_url; or name the host in the setting allowed_hosts.',
  },
  credential_in_clear: {
    status: 403,
    fix: 'Use the https address, and replace the key, or end the session: somebody on the way may have read it.',
  },
  message_unreadable: {
    status: 400,
    fix: 'Send the message that the call takes, as its proto file describes it; generated clients do.',
  },
  request_too_slow: { status: 408, fix: 'Send the whole request within 30 seconds.' },
  headers_too_large: { status: 431, fix: 'Send fewer or shorter headers, under 16 KiB together.' },
  body_too_deep: { status: 400, fix: 'Nest less deeply; keep deep structures in a string or elsewhere.' },
  field_unknown: { status: 400, fix: 'Remove the field, or correct its spelling.' },
  field_invalid: { status: 400, fix: 'Correct the value of the field named in the answer.' },
  field_missing: { status: 400, fix: 'Add the field named in the answer.' },
  sort_too_wide: {
    status: 400,
    fix: 'Narrow the list by user_id, namespace, label or status; or sort by created_at, which is read in order.',
  },
  field_conflict: { status: 400, fix: 'Keep only one of the fields named in the answer.' },
  payload_too_large: {
    status: 413,
    fix: 'Keep the payload under the limit; store large data elsewhere and pass a reference.',
  },
  cron_invalid: {
    status: 400,
    fix: 'Write 5 fields (minute hour day month weekday) or 6 (second first), e.g. "0 9 * * 1-5".',
  },
  cron_never_fires: {
    status: 400,
    fix: 'Choose dates that exist: no occurrence of this expression lies ahead.',
  },
  interval_invalid: {
    status: 400,
    fix: 'Write a duration such as "90s", "15m", "6h", "1d", "PT15M", or a number of seconds.',
  },
  zone_unknown: { status: 400, fix: 'Use an IANA zone name such as "Europe/Paris" or "UTC".' },
  time_invalid: {
    status: 400,
    fix: 'Write ISO 8601 with an offset, e.g. "2027-03-01T09:00:00Z", or a UNIX timestamp in seconds.',
  },
  time_out_of_range: { status: 400, fix: 'Choose a time between 1970 and 2100.' },
  schedule_never_fires: {
    status: 400,
    fix: 'Check start_at, end_at and the rule: no occurrence lies between them.',
  },
  fire_not_found: {
    status: 400,
    fix: 'Name an instant at which the job fires next: POST /api/schedules/preview with its job_id lists them.',
  },
  fire_passed: {
    status: 409,
    fix: 'Choose a fire that is not due yet. What has started can be cancelled: POST /api/runs/{id}/cancel.',
  },
  version_not_recorded: {
    status: 409,
    fix: 'Choose one that GET /api/jobs/{id}/versions lists, or set the fields yourself: PATCH /api/jobs/{id}.',
  },
  job_not_recurring: {
    status: 409,
    fix: 'Cancel the job, or give it another time: PATCH /api/jobs/{id}.',
  },
  skips_full: {
    status: 409,
    fix: 'Pause the job instead, or change its schedule; or take back skips that are not needed.',
  },
  unauthorized: {
    status: 401,
    fix: 'Send the header "Authorization: Bearer <key>"; the admin key is in <data>/admin.key.',
  },
  certificate_refused: {
    status: 401,
    fix: 'Start the worker with --tls-cert and --tls-key: a certificate that is valid now, signed by an authority in tls.client_ca_file of the server.',
  },
  forbidden: {
    status: 403,
    fix: 'Ask an administrator for a role or a key that has the right named in the answer.',
  },
  sign_in_refused: {
    status: 401,
    fix: 'Check the name and the password; an administrator can set a new password and enable the user.',
  },
  csrf_rejected: {
    status: 403,
    fix: 'Send the csrf_token of GET /api/session in X-CSRF-Token, from a page of this server; or use a key.',
  },
  rate_limited: { status: 429, fix: 'Slow down; try again after the seconds named in Retry-After.' },
  namespace_not_found: {
    status: 404,
    fix: 'Check the name; list namespaces with GET /api/namespaces, or create it with POST /api/namespaces.',
  },
  namespace_exists: { status: 409, fix: 'Choose another name, or use the namespace that is there.' },
  namespace_recently_removed: {
    status: 409,
    fix: 'Choose another name, or try again two minutes after the removal: until then servers may remember what was granted in the one before.',
  },
  namespace_in_use: {
    status: 409,
    fix: 'Remove its jobs first: DELETE /api/jobs/{id}?purge=true. The default namespace always stays.',
  },
  handler_not_found: { status: 404, fix: 'Check the name; list handlers with GET /api/handlers.' },
  user_not_found: { status: 404, fix: 'Check the id; list users with GET /api/users.' },
  user_exists: { status: 409, fix: 'Choose another name, or change the user that has it.' },
  last_administrator: {
    status: 409,
    fix: 'Give another user the role admin in * first: PUT /api/users/{id}/grants.',
  },
  password_required: {
    status: 403,
    fix: 'Send your password in current_password; a key of your own may instead have an expires_at that is no later than the answer says.',
  },
  key_changed: {
    status: 409,
    fix: 'Somebody else rotated the key meanwhile: read it again, and rotate it once more if that is still wanted.',
  },
  keys_full: {
    status: 409,
    fix: 'Revoke keys that nobody uses: GET /api/keys?unused_since=… finds them. To replace a key, rotate it.',
  },
  key_not_found: { status: 404, fix: 'Check the id; list keys with GET /api/keys.' },
  signing_key_not_found: {
    status: 404,
    fix: 'Check the id; list those of a namespace with GET /api/namespaces/{name}/signing-keys.',
  },
  signing_keys_full: {
    status: 409,
    fix: 'Delete a signing key that receivers use no more: DELETE /api/signing-keys/{id}.',
  },
  secret_not_found: {
    status: 404,
    fix: 'Check the name and the namespace; list secrets with GET /api/secrets.',
  },
  secret_unknown: {
    status: 400,
    fix: 'Set the secret first: PUT /api/secrets/{name} in the namespace of the job; or correct the name in the payload.',
  },
  secret_changed: { status: 409, fix: 'Others set the same secret at this moment: try again.' },
  secrets_full: { status: 409, fix: 'Delete secrets that no job names: DELETE /api/secrets/{name}.' },
  secrets_unsealed: {
    status: 409,
    fix: 'Give every server the setting secrets.key_file: a file with 32 bytes in base64, as `openssl rand -base64 32` writes them.',
  },
  settings_of_nobody: {
    status: 409,
    fix: 'Sign in with an account of your own: the admin key, keys of the installation and keys with less than the rights of their user keep no views and preferences.',
  },
  view_not_found: { status: 404, fix: 'Check the id among those of your views.' },
  view_name_taken: {
    status: 409,
    fix: 'Choose another name, or replace the view that has it.',
  },
  views_full: { status: 409, fix: 'Delete views that you use no more.' },
  session_not_found: { status: 404, fix: 'Check the id; list sessions with GET /api/sessions.' },
  job_not_found: { status: 404, fix: 'Check the id; list jobs with GET /api/jobs.' },
  run_not_found: { status: 404, fix: 'Check the id; list runs with GET /api/jobs/{id}/runs.' },
  checkpoint_not_found: {
    status: 404,
    fix: 'No attempt of the run has saved one, or the run has ended: read the run with GET /api/runs/{id}.',
  },
  result_not_found: {
    status: 404,
    fix: 'The run has not ended, its handler told no result, or the result is not kept any more: look at the run.',
  },
  artifact_not_found: {
    status: 404,
    fix: 'Check the name and the attempt; list the files of the run with GET /api/runs/{id}/artifacts.',
  },
  dead_letter_not_found: { status: 404, fix: 'Check the id; list dead letters with GET /api/dead-letters.' },
  worker_not_found: { status: 404, fix: 'Check the id; list workers with GET /api/workers.' },
  method_not_allowed: { status: 405, fix: 'Use one of the methods named in the header Allow.' },
  route_not_found: { status: 404, fix: 'Check the path and the method.' },
  job_key_taken: {
    status: 409,
    fix: 'Choose another key; or create or replace the job under it with PUT /api/jobs/by-key/{key}.',
  },
  job_already_finished: {
    status: 409,
    fix: 'Create a new job, or use POST /api/jobs/{id}/runNow to run it again.',
  },
  job_cancelled: { status: 409, fix: 'A cancelled job stays cancelled: create a new one.' },
  job_changed: {
    status: 409,
    fix: 'The job was changed by somebody else meanwhile: read it again and repeat the change.',
  },
  job_still_running: {
    status: 409,
    fix: 'Its runs were asked to stop: repeat the request when they have ended.',
  },
  version_mismatch: { status: 412, fix: 'Read the job again and send the ETag of that answer in If-Match.' },
  run_already_finished: { status: 409, fix: 'Nothing is left to cancel: read the run for its outcome.' },
  run_not_finished: { status: 409, fix: 'Wait until the run has ended, or cancel it first.' },
  batch_refused: {
    status: 422,
    fix: 'Nothing was created: correct the entries named in errors, or leave atomic out to create the others.',
  },
  log_elsewhere: {
    status: 503,
    fix: 'Start the server that has it; or give all servers one place for logs with the setting logs.s3.bucket or logs.folder.',
  },
  logs_unavailable: {
    status: 503,
    fix: 'The store of logs does not answer, or refuses: try again later. The run itself is not affected.',
  },
  range_not_satisfiable: {
    status: 416,
    fix: 'Ask for bytes before the end of the log.',
  },
  idempotency_key_reused: { status: 409, fix: 'Use a new Idempotency-Key for a different request.' },
  too_many_listeners: {
    status: 429,
    fix: 'Close some of the streams that are open with this key, user, namespace or address, or follow one with more filters.',
  },
  overloaded: { status: 503, fix: 'Try again after the seconds named in Retry-After.' },
  storage_unavailable: {
    status: 503,
    fix: 'The database does not answer: try again after the seconds named in Retry-After.',
  },
  internal: { status: 500, fix: 'Report it with the request id of this answer.' },
} as const satisfies Record<string, { status: number; fix: string }>;

export type ErrorCode = keyof typeof CATALOGUE;
