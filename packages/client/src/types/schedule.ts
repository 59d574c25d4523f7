/** What a schedule will do, before any job has it; and who runs jobs. */
import type { ScheduleFields, ScheduleType } from './job.ts';

export interface PreviewRequest extends ScheduleFields {
  readonly count?: number;
  readonly after?: string | number;
}

export interface SchedulePreview {
  /** In words. */
  readonly description: string;
  readonly schedule_type: ScheduleType;
  readonly time_zone: string;
  readonly fires: readonly {
    readonly at: string;
    /** The same instant on the clocks of the time zone. */
    readonly local: string;
  }[];
  readonly warnings: readonly {
    /** A wall-clock time that does not exist that day, or exists twice. */
    readonly kind: 'gap' | 'overlap';
    readonly message: string;
    readonly at: string;
  }[];
}

export interface Worker {
  readonly worker_id: string;
  readonly node_id: string;
  readonly slots: number;
  readonly handlers: readonly string[];
  readonly alive: boolean;
  readonly last_seen: string;
  readonly running: number;
}
