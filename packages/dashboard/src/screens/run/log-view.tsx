/** What a run wrote, as it writes it: follows the end until somebody scrolls up, finds text, and is saved whole. */
import { CarillonError, type RunWithAttempts } from '@carillon/client';
import { Badge, Box, Button, Group, SegmentedControl, Switch, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { BASE_URL, carillon } from '../../api/carillon.ts';
import { usePermission } from '../../api/session.ts';
import { useZone } from '../../ui/preferences.tsx';
import { Problem } from '../../ui/problem.tsx';
import { isEnded } from '../../ui/run-state.ts';
import { clockTime, count } from '../../ui/time.ts';
import { spansOf } from './ansi.ts';
import { LogBuffer, type LogRow } from './log-buffer.ts';
import classes from './log-view.module.css';

const ROW_PX = 19;
const SEARCH_MS = 300;
const AT_END_PX = 40;

type Streams = 'all' | 'stdout' | 'stderr';

export function LogView({
  run,
  namespace,
  search,
  onSearch,
}: {
  run: RunWithAttempts;
  namespace: string | undefined;
  search: string | undefined;
  onSearch: (text: string | undefined) => void;
}) {
  const permission = usePermission('logs.read', { namespace });
  const [typed, setTyped] = useState(search ?? '');
  const [wanted] = useDebouncedValue(typed, SEARCH_MS);
  useEffect(() => onSearch(wanted === '' ? undefined : wanted), [wanted, onSearch]);
  const [streams, setStreams] = useState<Streams>('all');
  const [wrap, setWrap] = useState(false);
  const log = useLog(run.run_id, { search: wanted, streams, enabled: permission.allowed });
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
            href={new URL(`api/runs/${encodeURIComponent(run.run_id)}/logs?download=1`, BASE_URL).href}
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

function useLog(
  runId: string,
  { search, streams, enabled }: { search: string; streams: Streams; enabled: boolean },
) {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<'reading' | 'following' | 'ended'>('reading');
  const [error, setError] = useState<unknown>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question, another buffer
  const buffer = useMemo(
    () => new LogBuffer((tell) => requestAnimationFrame(tell)),
    [runId, search, streams, tries],
  );
  useEffect(() => {
    if (!enabled) return;
    const end = new AbortController();
    setState('reading');
    setError(undefined);
    const read = async () => {
      const lines = carillon.runs.tailLogs(runId, {
        signal: end.signal,
        onOpen: () => setError(undefined),
        // One that breaks is taken up again and says nothing; one that is refused says why until it is there.
        onLost: (problem) => problem instanceof CarillonError && setError(problem),
        ...(search !== '' && { search }),
        ...(streams !== 'all' && { stream: [streams, 'system'] as const }),
      });
      for await (const message of lines) {
        if (message.kind === 'end') return setState('ended');
        setState('following');
        if (message.kind === 'attempt')
          buffer.add({
            kind: 'attempt',
            at: '',
            stream: 'system',
            text: `Attempt ${message.attempt ?? '–'}, epoch ${message.epoch}`,
          });
        else buffer.add({ kind: 'line', at: message.at, stream: message.stream, text: message.text });
      }
    };
    read().catch((problem: unknown) => {
      if (!end.signal.aborted) setError(problem);
    });
    return () => end.abort();
  }, [runId, search, streams, enabled, buffer]);
  return { buffer, state, error, retry: () => setTries((before) => before + 1) };
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
      {row.kind === 'line' && <span className={classes.at}>{clockTime(new Date(row.at), zone)}</span>}
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
