/** The fires of the schedule that is being written, on a calendar. */
import type { SchedulePreview as Preview, PreviewRequest } from '@carillon/client';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { useZone } from '../../ui/preferences.tsx';
import { readFires } from '../job/fire-calendar.ts';
import { FireMonth } from '../job/fire-month.tsx';
import { zoneOfFires } from '../job/zone-of-fires.ts';

export function ScheduleMonth({ preview, schedule }: { preview: Preview; schedule: PreviewRequest }) {
  const own = useZone();
  const [month, setMonth] = useState<string>();
  if (preview.schedule_type !== 'CRON' && preview.schedule_type !== 'INTERVAL') return null;
  return (
    <FireMonth
      of={[JSON.stringify(schedule)]}
      read={({ fromMs, toMs, signal }) =>
        readFires((request) => carillon.schedules.preview(request, { signal }), { schedule, fromMs, toMs })
      }
      zone={zoneOfFires(preview, own)}
      month={month}
      onMonth={setMonth}
      hasWarnings={false}
    />
  );
}
