/** What a run wrote, as it writes it: follows the end until somebody scrolls up, finds text, and is saved whole. */
import type { Run, RunWithAttempts } from '@carillon/client';
import { Badge, Box, Button, Group, SegmentedControl, Select, Switch, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { BASE_URL } from '../../api/carillon.ts';
import { usePermission } from '../../api/session.ts';
import { useZone } from '../../ui/preferences.tsx';
import { Problem } from '../../ui/problem.tsx';
import { isEnded } from '../../ui/run-state.ts';
import { absolute, clockTime, count, offset } from '../../ui/time.ts';
import { spansOf } from './ansi.ts';
import { attemptName } from './chosen-attempt.ts';
import type { LogBuffer, LogRow } from './log-buffer.ts';
import classes from './log-view.module.css';
import { type Streams, useLog } from './use-log.ts';

const ROW_PX = 19;
const SEARCH_MS = 300;
const AT_END_PX = 40;

interface LogViewProps {
  readonly run: RunWithAttempts;
  /** Of this one alone; undefined: of all. */
  readonly attempt: Run | undefined;
  readonly onAttempt: (attempt: Run | undefined) => void;
  readonly namespace: string | undefined;
  readonly search: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
}

export function LogView({ run, attempt, onAttempt, namespace, search, onSearch }: LogViewProps) {
  const permission = usePermission('logs.read', { namespace });
  const [typed, setTyped] = useState(search ?? '');
  const [wanted] = useDebouncedValue(typed, SEARCH_MS);
  useEffect(() => onSearch(wanted === '' ? undefined : wanted), [wanted, onSearch]);
  const [streams, setStreams] = useState<Streams>('all');
  const [wrap, setWrap] = useState(false);
  const epoch = attempt?.epoch;
  const log = useLog(run.run_id, { search: wanted, streams, epoch, enabled: permission.allowed });
  if (!permission.allowed)
    return (
      <Text size="sm" c="dimmed">
        What runs wrote is not shown to you. {permission.why}.
      </Text>
    );
  return (
    <Box>
      <Group gap="xs" mb="xs" justify="space-between">
        <Group gap="xs">
          <TextInput
            size="xs"
            w={200}
            aria-label="Find in the log"
            placeholder="Find in the log"
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {run.attempts.length > 1 && <AttemptSelect {...{ run, attempt, onAttempt }} />}
          <SegmentedControl
            size="xs"
            aria-label="Streams"
            data={['all', 'stdout', 'stderr']}
            value={streams}
            onChange={(value) => setStreams(value as Streams)}
          />
          <Switch
            size="xs"
            label="Wrap lines"
            checked={wrap}
            onChange={({ currentTarget }) => setWrap(currentTarget.checked)}
          />
        </Group>
        <Group gap="xs">
          <Badge variant="default" tt="none">
            {log.state === 'ended'
              ? 'complete'
              : log.state === 'following' && !isEnded(run.status)
                ? 'following'
                : 'reading'}
          </Badge>
          <Button
            component="a"
            size="compact-xs"
            variant="default"
            href={downloadUrl(run.run_id, epoch)}
            download
          >
            Download
          </Button>
        </Group>
      </Group>
      {log.error !== undefined && <Problem error={log.error} onRetry={log.retry} />}
      <Rows
        buffer={log.buffer}
        wrap={wrap}
        empty={emptyWords({ isRead: log.state === 'ended', isEnded: isEnded(run.status), searched: wanted })}
      />
    </Box>
  );
}

function emptyWords(of: { isRead: boolean; isEnded: boolean; searched: string }): string {
  if (of.isEnded && !of.isRead) return 'Reading what it wrote …';
  if (of.searched !== '') return 'No line contains this text.';
  return of.isRead ? 'This run wrote nothing.' : 'Nothing was written yet.';
}

const ALL = 'all';

function AttemptSelect({ run, attempt, onAttempt }: Pick<LogViewProps, 'run' | 'attempt' | 'onAttempt'>) {
  const attempts = [...run.attempts].sort((a, b) => a.epoch - b.epoch);
  return (
    <Select
      size="xs"
      w={150}
      aria-label="Attempt"
      allowDeselect={false}
      data={[
        { value: ALL, label: 'all attempts' },
        ...attempts.map((one) => ({
          value: String(one.epoch),
          label: `attempt ${attemptName(attempts, one)}`,
        })),
      ]}
      value={attempt === undefined ? ALL : String(attempt.epoch)}
      onChange={(chosen) => onAttempt(attempts.find(({ epoch }) => String(epoch) === chosen))}
    />
  );
}

function downloadUrl(runId: string, epoch: number | undefined): string {
  const url = new URL(`api/runs/${encodeURIComponent(runId)}/logs?download=1`, BASE_URL);
  if (epoch !== undefined) url.searchParams.set('epoch', String(epoch));
  return url.href;
}

function Rows({
  buffer,
  wrap,
  empty,
}: {
  buffer: LogBuffer;
  wrap: boolean;
  /** What stands there without a line. */
  empty: string;
}) {
  const version = useSyncExternalStore(buffer.subscribe, buffer.version);
  const frame = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const last = useRef({ top: 0, height: 0 });
  const zone = useZone();
  const { rows, left } = buffer;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 30,
    getItemKey: (index) => rows[index]?.number ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new row moves the end, also where as many were left out
  useEffect(() => {
    if (follows && rows.length > 0) virtual.scrollToIndex(rows.length - 1, { align: 'end' });
  }, [follows, version]);
  if (rows.length === 0)
    return (
      <Text size="sm" c="dimmed" py="md">
        {empty}
      </Text>
    );
  return (
    <Box pos="relative">
      {left > 0 && (
        <Text size="xs" c="dimmed">
          The first {count(left)} lines are not shown here. Download the log to read them.
        </Text>
      )}
      <Box
        ref={frame}
        className={classes.frame}
        role="log"
        aria-label="Log"
        tabIndex={0}
        data-wrap={wrap || undefined}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          // Only who scrolls up leaves the end: rows that were added since also make a distance to it, and rows that are left out
          // at the beginning move everything up.
          if (scrollHeight - scrollTop - clientHeight < AT_END_PX) setFollows(true);
          else if (scrollTop < last.current.top && scrollHeight >= last.current.height) setFollows(false);
          last.current = { top: scrollTop, height: scrollHeight };
        }}
      >
        <div className={classes.body} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => (
            <Line
              key={key}
              row={rows[index]!}
              zone={zone}
              measure={wrap ? virtual.measureElement : undefined}
              index={index}
              start={start}
            />
          ))}
        </div>
      </Box>
      {!follows && (
        <Button size="compact-xs" className={classes.toEnd} onClick={() => setFollows(true)}>
          To the end
        </Button>
      )}
    </Box>
  );
}

/** With the whole truth on hover: lines show the clock alone. */
function At({ at, zone }: { at: Date; zone: string }) {
  return (
    <span
      className={classes.at}
      title={`${absolute(at, zone, { millis: true })} ${offset(at, zone)} (${zone})`}
    >
      {clockTime(at, zone)}
    </span>
  );
}

function Line({
  row,
  zone,
  index,
  start,
  measure,
}: {
  row: LogRow;
  zone: string;
  index: number;
  start: number;
  measure: ((element: HTMLElement | null) => void) | undefined;
}) {
  return (
    <div
      ref={measure}
      data-index={index}
      className={classes.line}
      data-kind={row.kind}
      data-stream={row.stream}
      style={{ transform: `translateY(${start}px)` }}
    >
      {row.kind === 'line' && <At at={new Date(row.at)} zone={zone} />}
      {row.kind === 'line' && row.stream !== 'stdout' && (
        <span className={classes.stream}>{row.stream === 'stderr' ? 'err' : 'note'}</span>
      )}
      <span className={classes.text}>
        {spansOf(row.text).map(({ text, colour, bold }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the spans of a line never change
          <span key={at} data-colour={colour} data-bold={bold || undefined}>
            {text}
          </span>
        ))}
      </span>
    </div>
  );
}
