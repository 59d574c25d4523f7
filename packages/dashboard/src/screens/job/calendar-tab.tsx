/** A month of coming fires of a job, in the zone of its schedule. */

import type { Job } from '@carillon/client';
import { useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { useZone } from '../../ui/preferences.tsx';
import { dayKey } from '../../ui/time.ts';
import { type Fires, NO_FIRES, readFires } from './fire-calendar.ts';
import { FireMonth, type FireWindow } from './fire-month.tsx';
import { zoneOfFires } from './zone-of-fires.ts';

export function CalendarTab({ job, month }: { job: Job; month: string | undefined }) {
  const zone = zoneOfFires(job, useZone());
  const navigate = useNavigate();
  const show = (to: string | undefined) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, month: to }),
      replace: true,
    } as never);
  return (
    <FireMonth
      of={[job.job_id, job.version]}
      read={(range) => readMonth(job, { ...range, zone })}
      zone={zone}
      month={month}
      onMonth={show}
    />
  );
}

async function readMonth(
  job: Job,
  { fromMs, toMs, zone, signal }: FireWindow & { zone: string },
): Promise<Fires> {
  if (job.next_run_at === null) return NO_FIRES;
  if (job.schedule_type !== 'CRON' && job.schedule_type !== 'INTERVAL')
    return {
      ...NO_FIRES,
      fires: [job.next_run_at],
      perDay: new Map([[dayKey(new Date(job.next_run_at), zone), 1]]),
    };
  const schedule = { job_id: job.job_id };
  return readFires((request) => carillon.schedules.preview(request, { signal }), { schedule, fromMs, toMs });
}
