/** Attempts by outcome, and how late runs started, over time. */

import type { RunStats } from '@carillon/client';
import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { Chart, type Series } from '../../ui/chart.tsx';
import { LATE_MS } from '../../ui/run-state.ts';
import { count, duration } from '../../ui/time.ts';

interface Props {
  readonly stats: RunStats;
  readonly onRange: (from: number, to: number) => void;
}

function useTimes({ from, to, bucket, buckets }: RunStats) {
  return useMemo(() => {
    const step = bucket === 'minute' ? 60 : 3_600;
    return {
      step,
      from: Math.floor(Date.parse(from) / 1_000),
      to: Math.floor(Date.parse(to) / 1_000),
      times: buckets.map(({ at }) => Date.parse(at) / 1_000),
    };
  }, [from, to, bucket, buckets]);
}

export function OutcomesChart({ stats, onRange }: Props) {
  const { times, from, to, step } = useTimes(stats);
  const series = useMemo((): readonly Series[] => {
    const of = (pick: (bucket: RunStats['buckets'][number]) => number) => stats.buckets.map(pick);
    return [
      { kind: 'bars', label: 'succeeded', colour: '#009E73', values: of((bucket) => bucket.succeeded) },
      {
        kind: 'bars',
        label: 'failed',
        colour: '#D55E00',
        values: of((bucket) => bucket.failed + bucket.timed_out),
      },
      { kind: 'bars', label: 'lost', colour: '#CC79A7', values: of((bucket) => bucket.lost) },
      {
        kind: 'bars',
        label: 'skipped, cancelled',
        colour: '#8a94a0',
        values: of((bucket) => bucket.skipped + bucket.cancelled),
      },
      {
        kind: 'line',
        label: 'tried again',
        colour: '#E69F00',
        values: of((bucket) => bucket.retried),
        dash: [4, 3],
      },
    ];
  }, [stats.buckets]);
  if (times.length === 0) return <Nothing />;
  return (
    <Chart
      label="Attempts that ended, by outcome"
      {...{ times, series, from, to, onRange }}
      bucketSeconds={step}
      format={count}
    />
  );
}

export function DelayChart({ stats, onRange }: Props) {
  const { times, from, to, step } = useTimes(stats);
  const series = useMemo((): readonly Series[] => {
    const of = (name: 'p50' | 'p95' | 'p99') =>
      stats.buckets.map(({ start_delay_ms: delay }) => delay?.[name] ?? null);
    return [
      { kind: 'line', label: 'p50', colour: '#009E73', values: of('p50') },
      { kind: 'line', label: 'p95', colour: '#0072B2', values: of('p95') },
      { kind: 'line', label: 'p99', colour: '#D55E00', values: of('p99') },
    ];
  }, [stats.buckets]);
  const shown = stats.buckets.some(({ start_delay_ms: delay }) => (delay?.p99 ?? 0) > LATE_MS / 4);
  if (times.length === 0) return <Nothing />;
  return (
    <Chart
      label="From a run's instant to its start"
      {...{ times, series, from, to, onRange }}
      bucketSeconds={step}
      format={duration}
      {...(shown && { mark: { value: LATE_MS, label: '2 s' } })}
    />
  );
}

function Nothing() {
  return (
    <Text size="sm" c="dimmed" py="xl" ta="center">
      Nothing has ended in this time.
    </Text>
  );
}
