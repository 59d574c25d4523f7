/**
 * One attempt on the line of time of its run: how long it waited (from when it was due, or from the end of the attempt before), when it was
 * handed to its worker, how long it ran, and what it saved.
 */
import type { Checkpoint, Run } from '@carillon/client';
import { duration } from '../../ui/time.ts';
import classes from './attempts.module.css';

interface AttemptBarProps {
  readonly attempt: Run;
  /** Of the whole run. */
  readonly from: number;
  readonly to: number;
  readonly now: number;
  /** When the attempt before it ended. */
  readonly after: number | undefined;
  readonly checkpoint: Checkpoint | null;
}

export function AttemptBar({ attempt, from, to, now, after, checkpoint }: AttemptBarProps) {
  if (attempt.started_at === null) return <span className="muted">not started</span>;
  const at = (ms: number) => (100 * (Math.min(Math.max(ms, from), to) - from)) / (to - from);
  const started = Date.parse(attempt.started_at);
  const waitedFrom = after ?? from;
  const handed = Math.min(Math.max(handedOutMs(attempt) ?? started, waitedFrom), started);
  const ended = attempt.ended_at === null ? now : Date.parse(attempt.ended_at);
  const saved = checkpoint?.epoch === attempt.epoch ? Date.parse(checkpoint.saved_at) : undefined;
  const span = (first: number, last: number, least = 0) => ({
    // Also one that took no time is seen, at the very end too.
    x: `${Math.min(at(first), 100 - least)}%`,
    width: `${Math.max(least, at(last) - at(first))}%`,
  });
  return (
    <svg width="100%" height="14" className={classes.line} role="img" aria-label={words()}>
      <rect {...span(waitedFrom, handed)} y="6" height="2" className={classes.waited} />
      <rect {...span(handed, started)} y="4" height="6" className={classes.handed} />
      <rect
        {...span(started, ended, 1)}
        y="1"
        height="12"
        rx="2"
        className={classes[attempt.status] ?? classes.other}
      />
      {saved !== undefined && (
        <svg x={`${at(saved)}%`} y="7" overflow="visible">
          <title>checkpoint</title>
          <path d="M0-6l6 6-6 6-6-6z" className={classes.saved} />
        </svg>
      )}
    </svg>
  );

  function words(): string {
    const delay = attempt.start_delay_ms;
    const began =
      delay === null
        ? `attempt ${attempt.attempt_number} waited ${duration(handed - waitedFrom)}`
        : `started ${duration(delay)} after it was due`;
    const took = `${attempt.ended_at === null ? 'runs for' : 'took'} ${duration(Math.max(0, ended - started))}`;
    const kept =
      saved === undefined ? '' : `, saved a checkpoint after ${duration(Math.max(0, saved - started))}`;
    return `${began}, ${took}${kept}`;
  }
}

/** An attempt is recorded when it is handed to a worker. */
export function handedOutMs({ worker_id: worker, created_at: at }: Run): number | undefined {
  return worker === null ? undefined : Date.parse(at);
}
