/**
 * Keeps what is shown true: an update names the jobs and runs that changed, and only questions about those are asked again. What is
 * under the pointer, ticked or in a dialog does not move: lists wait, and say that there is something new.
 */
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { usePreferences } from '../ui/preferences.tsx';
import { followLive } from './live-stream.ts';
import { createRefresher } from './refresher.ts';

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
