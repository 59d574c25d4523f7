/** The next fires of a job as they are and as a change would make them, to be shown beside the fields that change. */
import { isCarillonError, type Job, type PreviewRequest } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { KEPT } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useZone } from '../../ui/preferences.tsx';
import { fireWords } from '../job/fire-words.ts';
import { zoneOfFires } from '../job/zone-of-fires.ts';
import { type Body, isSame, scheduleTypeOf } from './job-body.ts';
import { scheduleFieldsOf } from './when-mode.ts';

const COMPARED = 8;
const READING = '…';

/** A row of the changes; undefined: the schedule stays as it is. */
export function useFiresChange(job: Job, before: Body, after: Body) {
  const own = useZone();
  const [was, is] = [requestOf(before), requestOf(after)];
  // By one clock, that of the schedule it will have.
  const zone = zoneOfFires(
    {
      schedule_type: scheduleTypeOf(after),
      time_zone: typeof after.time_zone === 'string' ? after.time_zone : 'UTC',
    },
    own,
  );
  const isChanged = !isSame(was as never, is as never);
  const texts = useQuery({
    queryKey: queryKeys.schedule('change', job.job_id, JSON.stringify([was, is]), zone),
    queryFn: async ({ signal }) => {
      const both = [was, is].map((schedule) => readFires({ ...schedule, job_id: job.job_id }, signal));
      return textsOf(await Promise.all(both), zone);
    },
    enabled: isChanged,
    staleTime: KEPT.previewMs,
    placeholderData: undefined,
  });
  if (!isChanged) return undefined;
  const notRead = texts.error ? 'not known' : READING;
  return { field: `next fires, times of ${zone}`, values: texts.data ?? [notRead, notRead] };
}

function requestOf(body: Body): PreviewRequest {
  return { ...scheduleFieldsOf(body), schedule_type: scheduleTypeOf(body) } as PreviewRequest;
}

/** At most so many; undefined: once, as soon as it is saved. */
async function readFires(request: PreviewRequest, signal: AbortSignal): Promise<Date[] | undefined> {
  if (request.schedule_type === 'IMMEDIATE') return undefined;
  try {
    const { fires } = await carillon.schedules.preview({ ...request, count: COMPARED }, { signal });
    return fires.map(({ at }) => new Date(at));
  } catch (error) {
    if (isCarillonError(error, 'schedule_never_fires')) return [];
    throw error;
  }
}

/** One to a line, as far as both are known: a later one would look like one that is left out. */
function textsOf(both: readonly (readonly Date[] | undefined)[], zone: string): string[] {
  const ends = both.map((fires = []) =>
    fires.length < COMPARED ? Number.POSITIVE_INFINITY : Number(fires.at(-1)),
  );
  return both.map((fires) => {
    if (fires === undefined) return 'once, as soon as it is saved';
    const shown = fires.filter((at, i) => i === 0 || Number(at) <= Math.min(...ends));
    return shown.map((at) => fireWords(at, zone)).join('\n') || 'none';
  });
}
