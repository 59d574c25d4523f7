/** Every command, in the order help and documentation show them. */
import type { CommandSpec } from '../command.ts';
import { audit } from './audit.ts';
import { completion } from './completion.ts';
import { dlqList } from './dlq-list.ts';
import { dlqRedrive } from './dlq-redrive.ts';
import { dlqShow } from './dlq-show.ts';
import { events } from './events.ts';
import { importCrontab } from './import-crontab.ts';
import { jobsBulk } from './jobs-bulk.ts';
import { jobsCancel } from './jobs-cancel.ts';
import { jobsCreate } from './jobs-create.ts';
import { jobsDelete } from './jobs-delete.ts';
import { jobsList } from './jobs-list.ts';
import { jobsPause } from './jobs-pause.ts';
import { jobsResume } from './jobs-resume.ts';
import { jobsRun } from './jobs-run.ts';
import { jobsShow } from './jobs-show.ts';
import { jobsUpcoming } from './jobs-upcoming.ts';
import { jobsUpdate } from './jobs-update.ts';
import { keysCreate } from './keys-create.ts';
import { keysList } from './keys-list.ts';
import { keysRevoke } from './keys-revoke.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { migrate } from './migrate.ts';
import { namespacesCreate } from './namespaces-create.ts';
import { namespacesDelete } from './namespaces-delete.ts';
import { namespacesList } from './namespaces-list.ts';
import { password } from './password.ts';
import { preview } from './preview.ts';
import { runsCancel } from './runs-cancel.ts';
import { runsList } from './runs-list.ts';
import { runsLogs } from './runs-logs.ts';
import { runsRerun } from './runs-rerun.ts';
import { runsShow } from './runs-show.ts';
import { serve } from './serve.ts';
import { start } from './start.ts';
import { status } from './status.ts';
import { usersCreate } from './users-create.ts';
import { usersDisable } from './users-disable.ts';
import { usersGrant } from './users-grant.ts';
import { usersList } from './users-list.ts';
import { usersUpdate } from './users-update.ts';
import { whoami } from './whoami.ts';
import { workers } from './workers.ts';

export const allCommands: readonly CommandSpec[] = [
  start,
  serve,
  migrate,
  status,
  login,
  logout,
  whoami,
  password,
  jobsCreate,
  jobsList,
  jobsShow,
  jobsUpdate,
  jobsPause,
  jobsResume,
  jobsCancel,
  jobsRun,
  jobsDelete,
  jobsUpcoming,
  jobsBulk,
  runsList,
  runsShow,
  runsLogs,
  runsCancel,
  runsRerun,
  dlqList,
  dlqShow,
  dlqRedrive,
  preview,
  importCrontab,
  events,
  workers,
  keysList,
  keysCreate,
  keysRevoke,
  usersList,
  usersCreate,
  usersUpdate,
  usersGrant,
  usersDisable,
  namespacesList,
  namespacesCreate,
  namespacesDelete,
  audit,
  completion,
];
