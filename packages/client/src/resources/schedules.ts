/** What a schedule would do. */
import type { PreviewRequest, SchedulePreview } from '../generated/types.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The next fires, in words and times; nothing is stored. */
  preview(schedule: PreviewRequest, options: CallOptions = {}): Promise<SchedulePreview> {
    return this.#transport.json({
      ...options,
      method: 'POST',
      path: '/schedules/preview',
      body: schedule,
      repeatable: true,
    });
  }
}
