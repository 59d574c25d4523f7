/** The one place where the server takes the rules of job definitions from. */
export { defineJob, type JobInput, type JobPatch, redefineJob } from '../../../domain/src/job/define-job.ts';
