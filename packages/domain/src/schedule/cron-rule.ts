/**
 * A cron expression after parsing: which seconds, minutes, hours, months and days it admits. Says nothing about zones;
 * it is a rule about what a wall clock and a wall calendar show.
 */
export interface CronRule {
  /** As the user wrote it, without surrounding spaces. */
  readonly expression: string;
  /** Sorted, without duplicates, never empty. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly monthDays: MonthDayRule;
  readonly weekdays: WeekdayRule;
  /**
   * Every hour is admitted (hour field `*`, `0-23`, or a list of all 24): the expression is a beat within the hour, not
   * a set of fixed times, and keeps beating in real time through gaps and overlaps.
   */
  readonly isRhythm: boolean;
}

export interface MonthDayRule {
  /** Written `*` or `?`: the field does not restrict anything. */
  readonly any: boolean;
  readonly days: readonly number[];
  /** `15W`: the working day (Monday to Friday) nearest to the 15th, within the same month. */
  readonly nearestWeekdayTo: readonly number[];
  /** `L` is 0 days before the last day of the month, `L-3` is 3. */
  readonly daysBeforeLast: readonly number[];
  /** `LW`: the last working day of the month. */
  readonly lastWeekday: boolean;
}

export interface WeekdayRule {
  readonly any: boolean;
  /** 0 is Sunday. */
  readonly days: readonly number[];
  /** `2#1`: the first Tuesday of the month. */
  readonly nth: readonly { readonly weekday: number; readonly nth: number }[];
  /** `5L` or `5#L`: the last Friday of the month. */
  readonly last: readonly number[];
}
