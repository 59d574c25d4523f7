/** Examples of what is counted, and of what changed, for the documentation. */
export function countExamples({ jobId, runId }: { jobId: string; runId: string }) {
  return {
    stats: {
      from: '2030-01-02T08:00:00.000Z',
      to: '2030-01-02T08:02:00.000Z',
      bucket: 'minute',
      buckets: [
        {
          at: '2030-01-02T08:00:00.000Z',
          ...{
            started: 1_204,
            succeeded: 1_190,
            failed: 9,
            timed_out: 2,
            cancelled: 1,
            skipped: 3,
            retried: 8,
            lost: 2,
          },
          start_delay_ms: { p50: 3, p95: 12, p99: 41 },
          duration_ms: { p50: 88, p95: 410, p99: 1_297 },
        },
      ],
    },
    statsNow: {
      as_of: '2030-01-02T08:00:00.000Z',
      ...{ running: 211, slots: 256, workers: 1 },
      ...{ oldest_waiting_at: '2030-01-02T07:59:59.200Z', waiting_at_least: 37 },
      start_delay_ms: { p50: 3, p95: 12, p99: 41 },
      ...{ failed_last_hour: 12, open_dead_letters: 2, unoffered_handlers: [] },
    },
    failure: {
      fingerprint: '5f1d9c0e7a3b8264',
      namespace: 'default',
      handler: 'http',
      message: 'the answer was 503',
      ...{ count: 41, jobs: 3 },
      first_at: '2030-01-02T07:10:09.000Z',
      last_at: '2030-01-02T08:00:09.000Z',
      sample_run_id: runId,
      sample_job_id: jobId,
      sample_job_name: 'Weekday report',
    },
    live: {
      id: '74231-1802',
      as_of: '2030-01-02T09:00:01.000Z',
      changed: { jobs: [jobId], runs: [runId], workers: false, dead_letters: false },
      refetch: false,
    },
  };
}
