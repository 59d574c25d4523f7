import type { Job } from '@carillon/client';
import { expect, test } from 'vitest';
import { firesTitle, zoneOfFires } from './zone-of-fires.ts';

const job = (type: Job['schedule_type'], zone: string, status: Job['status'] = 'SCHEDULED') => ({
  ...{ schedule_type: type, time_zone: zone, status },
});

test('fires are told in the zone that is shown: of a cron expression its own, of an interval that of who looks', () => {
  expect(zoneOfFires(job('CRON', 'Asia/Tokyo'), 'Europe/Berlin')).toBe('Asia/Tokyo');
  expect(firesTitle(job('CRON', 'Asia/Tokyo'), 'Europe/Berlin')).toBe('Next fires, times of Asia/Tokyo');
  expect(zoneOfFires(job('INTERVAL', 'UTC'), 'Europe/Berlin')).toBe('Europe/Berlin');
  expect(firesTitle(job('INTERVAL', 'UTC'), 'Europe/Berlin')).toBe('Next fires, times of Europe/Berlin');
  expect(firesTitle(job('CRON', 'Europe/Berlin'), 'Europe/Berlin')).toBe('Next fires');
});

test('fires of a paused job are said to depend on it', () => {
  expect(firesTitle(job('CRON', 'UTC', 'PAUSED'), 'UTC')).toBe('Next fires if it is resumed');
});
