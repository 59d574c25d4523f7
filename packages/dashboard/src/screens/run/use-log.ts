/** Reads what a run writes, from its first line on until it has ended. */
import { CarillonError } from '@carillon/client';
import { useEffect, useMemo, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { LogBuffer } from './log-buffer.ts';

export type Streams = 'all' | 'stdout' | 'stderr';

interface LogWanted {
  readonly search: string;
  readonly streams: Streams;
  /** Of one attempt; undefined: of all. */
  readonly epoch: number | undefined;
  readonly enabled: boolean;
}

export function useLog(runId: string, { search, streams, epoch, enabled }: LogWanted) {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<'reading' | 'following' | 'ended'>('reading');
  const [error, setError] = useState<unknown>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question, another buffer
  const buffer = useMemo(
    () => new LogBuffer((tell) => requestAnimationFrame(tell)),
    [runId, search, streams, epoch, tries],
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
        ...(epoch !== undefined && { epoch }),
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
  }, [runId, search, streams, epoch, enabled, buffer]);
  return { buffer, state, error, retry: () => setTries((before) => before + 1) };
}
