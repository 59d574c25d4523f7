/**
 * Keeps what is shown true: an update names the jobs and runs that changed, and only questions about those are asked again. What is
 * under the pointer, ticked or in a dialog does not move: lists wait, and say that there is something new.
 */

import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { usePreferences } from '../ui/preferences.tsx';
import { askAgain } from './ask-again.ts';
import { followLive } from './live-stream.ts';
import { isAboutRuns } from './query-keys.ts';
import { createRefresher } from './refresher.ts';

export interface LiveState {
  /** paused: the person said so. */
  readonly state: 'open' | 'lost' | 'paused';
  /** When something last arrived of the server: until then the page was true. Trying to reach it again does not move it. */
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
  const heardAt = useRef(Date.now());
  useEffect(() => {
    if (!live) {
      setState({ state: 'paused', asOf: heardAt.current });
      return;
    }
    const refresh = createRefresher(queries);
    // From the start: what changed between the first answers and the open stream was told to nobody.
    let wasLost = true;
    // A new stream tells of what comes after its first message: what happened before that is read once more then.
    let isFirst = true;
    const readAll = () => void askAgain(queries, ({ queryKey }) => isAboutRuns(queryKey));
    const show = (now: LiveState['state']) =>
      setState((before) => {
        // The time stands on the page only while nothing arrives.
        const isSame = before.state === now && (now === 'open' || before.asOf === heardAt.current);
        return isSame ? before : { state: now, asOf: heardAt.current };
      });
    const stop = followLive((message) => {
      if (message.kind !== 'lost') heardAt.current = Date.now();
      if (message.kind === 'heard') return;
      if (message.kind === 'update') {
        if (isFirst) readAll();
        isFirst = false;
        refresh(message.update);
      }
      // Whatever was missed while the stream was lost is read now.
      if (message.kind === 'open' && wasLost) readAll();
      if (message.kind === 'open') isFirst = true;
      wasLost = message.kind === 'lost';
      show(wasLost ? 'lost' : 'open');
    });
    // While the stream is lost, screens ask by themselves: their answers are new, too.
    const stopAnswers = queries.getQueryCache().subscribe((event) => {
      if (!wasLost || event.type !== 'updated') return;
      if (event.action.type !== 'success' || event.action.manual === true) return;
      heardAt.current = Date.now();
      show('lost');
    });
    return () => {
      stopAnswers();
      stop();
      refresh.stop();
    };
  }, [live, queries]);
  return <LiveContext value={state}>{children}</LiveContext>;
}
