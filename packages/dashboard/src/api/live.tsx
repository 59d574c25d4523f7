/**
 * Keeps what is shown true: an update names the jobs and runs that changed, and only questions about those are asked again. What is
 * under the pointer, ticked or in a dialog does not move: lists wait, and say that there is something new.
 */
import type { LiveUpdate } from '@carillon/client';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { usePreferences } from '../ui/preferences.tsx';
import { followLive } from './live-stream.ts';

export interface LiveState {
  /** paused: the person said so. */
  readonly state: 'open' | 'lost' | 'paused';
  /** When the page was last known to be true. */
  readonly asOf: number;
}

const LiveContext = createContext<LiveState>({ state: 'lost', asOf: 0 });

export function useLive(): LiveState {
  return useContext(LiveContext);
}

/** Lists, counts and charts are read again at most this often, however much happens. */
const LISTS_MS = 2_000;

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const { live } = usePreferences();
  const [state, setState] = useState<LiveState>({ state: 'lost', asOf: Date.now() });
  useEffect(() => {
    if (!live) {
      setState(({ asOf }) => ({ state: 'paused', asOf }));
      return;
    }
    const refresh = createRefresher(queries);
    // From the start: what changed between the first answers and the open stream was told to nobody.
    let wasLost = true;
    // A new stream tells of what comes after its first message: what happened before that is read once more then.
    let isFirst = true;
    const readAll = () => void queries.invalidateQueries({ predicate: isAboutRuns });
    const stop = followLive((message) => {
      if (message.kind === 'update') {
        if (isFirst) readAll();
        isFirst = false;
        refresh(message.update);
      }
      // Whatever was missed while the stream was lost is read now.
      if (message.kind === 'open' && wasLost) readAll();
      if (message.kind === 'open') isFirst = true;
      wasLost = message.kind === 'lost';
      setState({ state: wasLost ? 'lost' : 'open', asOf: Date.now() });
    });
    return () => {
      stop();
      refresh.stop();
    };
  }, [live, queries]);
  return <LiveContext value={state}>{children}</LiveContext>;
}

const ABOUT_RUNS: ReadonlySet<unknown> = new Set(['jobs', 'runs', 'dead', 'workers', 'stats', 'failures']);

function isAboutRuns({ queryKey: [about] }: { queryKey: readonly unknown[] }): boolean {
  return ABOUT_RUNS.has(about);
}

function createRefresher(queries: QueryClient) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wanted = new Set<unknown>();
  const lists = () => {
    timer = undefined;
    const about = new Set(wanted);
    wanted.clear();
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first, second] }) =>
        about.has(first) &&
        (second === 'list' || first === 'stats' || first === 'failures' || first === 'workers'),
    });
  };
  const refresh = ({ changed, refetch }: LiveUpdate) => {
    const ids = new Set<unknown>([...changed.jobs, ...changed.runs]);
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first, second] }) =>
        (first === 'jobs' || first === 'runs') && second !== 'list' && (refetch || ids.has(second)),
    });
    // A job that is made, edited or run by hand may have a run that waits.
    if (refetch || changed.jobs.length > 0) for (const about of ['jobs', 'runs']) wanted.add(about);
    if (refetch || changed.runs.length > 0)
      for (const about of ['runs', 'stats', 'failures']) wanted.add(about);
    if (refetch || changed.workers) wanted.add('workers');
    if (refetch || changed.dead_letters) wanted.add('dead');
    if (wanted.size > 0) timer ??= setTimeout(lists, LISTS_MS);
  };
  return Object.assign(refresh, { stop: () => clearTimeout(timer) });
}
