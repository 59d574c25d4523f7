/** Redrives all open letters that match: counts them and names ten first, goes on in parts, tells how far it is, and can be stopped. */

import type { RedriveManyRequest } from '@carillon/client';
import { Button, Group, Modal, Progress, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Names } from '../../ui/bulk/names.tsx';
import { releaseLists } from '../../ui/held-items.ts';
import { Problem } from '../../ui/problem.tsx';

const PART = 200;
/** The server counts no further. */
const COUNTED_MAX = 1_000;
const NAMES_MAX = 10;
/** From here on the number is typed. */
const TYPED_FROM = 100;

interface Done {
  readonly redriven: number;
  readonly refused: number;
}

export function RedriveMany({ filter }: { filter: NonNullable<RedriveManyRequest['filter']> }) {
  const permission = usePermission('dead_letters.redrive', { namespace: filter.namespace });
  const queries = useQueryClient();
  const [matched, setMatched] = useState<number>();
  const [names, setNames] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<Done>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const stopped = useRef(false);

  const look = async () => {
    setError(undefined);
    setDone(undefined);
    setTyped('');
    setNames([]);
    try {
      const [report, { items }] = await Promise.all([
        carillon.deadLetters.redriveMany({ filter, dry_run: true }),
        carillon.deadLetters.list({ ...filter, handled: false, limit: NAMES_MAX }).page(),
      ]);
      setNames(items.map(({ job_id: jobId, job_name: name }) => name ?? jobId));
      setMatched(report.matched);
    } catch (problem) {
      setMatched(0);
      setError(problem);
    }
  };
  const redrive = async () => {
    stopped.current = false;
    setBusy(true);
    let sum: Done = { redriven: 0, refused: 0 };
    let cursor: string | undefined;
    try {
      do {
        const report = await carillon.deadLetters.redriveMany({
          filter,
          limit: PART,
          ...(cursor !== undefined && { cursor }),
        });
        sum = { redriven: sum.redriven + report.redriven, refused: sum.refused + report.refused };
        setDone(sum);
        cursor = report.next ?? undefined;
      } while (cursor !== undefined && !stopped.current);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
    await Promise.all([
      queries.invalidateQueries({ queryKey: queryKeys.all('dead') }),
      queries.invalidateQueries({ queryKey: queryKeys.all('runs') }),
    ]);
    releaseLists();
  };
  const many = (matched ?? 0) > TYPED_FROM;
  return (
    <>
      <Tooltip label={permission.why} disabled={permission.allowed}>
        <Button
          size="compact-sm"
          variant="default"
          aria-disabled={!permission.allowed}
          data-disabled={!permission.allowed || undefined}
          onClick={() => permission.allowed && void look()}
        >
          Redrive all that match
        </Button>
      </Tooltip>
      <Modal
        opened={matched !== undefined}
        onClose={() => !busy && setMatched(undefined)}
        title="Redrive dead letters"
        centered
      >
        <Stack>
          <Text size="sm">
            {matched === 0
              ? 'No open letter matches.'
              : `${matched}${(matched ?? 0) >= COUNTED_MAX ? ' or more' : ''} letters match. Each is sent round again as a new run with the payload of its job as it is now.`}
          </Text>
          {done === undefined && names.length > 0 && (
            <Names names={names} count={matched ?? 0} orMore={(matched ?? 0) >= COUNTED_MAX} />
          )}
          {many && done === undefined && (
            <TextInput
              label={`Type ${matched} to confirm`}
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          )}
          {done && (
            <>
              <Progress
                value={(100 * (done.redriven + done.refused)) / Math.max(1, matched ?? 1)}
                aria-label="Progress"
              />
              <Text size="sm" role="status">
                {done.redriven} redriven, {done.refused} refused because their job was cancelled or removed.
              </Text>
            </>
          )}
          {error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            {busy ? (
              <Button
                variant="default"
                onClick={() => {
                  stopped.current = true;
                }}
              >
                Stop
              </Button>
            ) : (
              <Button variant="default" onClick={() => setMatched(undefined)}>
                {done ? 'Close' : 'Back'}
              </Button>
            )}
            {!done && matched !== 0 && (
              <Button
                loading={busy}
                disabled={many && typed !== String(matched)}
                onClick={() => void redrive()}
              >
                Redrive {matched}
              </Button>
            )}
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
