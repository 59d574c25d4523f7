/** Keys that sign the requests of http jobs of a namespace. A secret is shown once, when its key is made. */

import type { CreatedSigningKey, SigningKey } from '@carillon/client';
import { Select, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Instant } from '../../ui/instant.tsx';
import { useNow } from '../../ui/now.ts';
import { SimpleTable } from '../../ui/simple-table.tsx';
import { ChosenNamespace, useChosenNamespace } from './chosen-namespace.tsx';
import { FormDialog } from './form-dialog.tsx';
import { RemoveButton } from './remove-button.tsx';
import { ShownOnce } from './shown-once.tsx';

export function SigningKeys() {
  const ns = useChosenNamespace();
  const somewhere = usePermission('signing_keys.read');
  const here = usePermission('signing_keys.read', { namespace: ns });
  if (ns === undefined || !somewhere.allowed) return null;
  if (here.allowed) return <KeysOf namespace={ns} />;
  return (
    <Card title={`Signing keys of ${ns}`}>
      <ChosenNamespace />
      <Text size="sm">{here.why}.</Text>
    </Card>
  );
}

function KeysOf({ namespace }: { namespace: string }) {
  const keys = useQuery({
    queryKey: queryKeys.signingKeys(namespace),
    queryFn: ({ signal }) => carillon.namespaces.signingKeys.list(namespace, { signal }),
  });
  const permission = usePermission('signing_keys.manage', { namespace });
  return (
    <Card
      title={`Signing keys of ${namespace}`}
      actions={<NewForm namespace={namespace} others={keys.data?.length ?? 0} />}
    >
      <ChosenNamespace />
      <Text size="sm" c="dimmed">
        Every request of an http job of the namespace carries a signature of each key that signs. By it,
        receivers tell requests of this server from forged ones.
      </Text>
      <Loaded of={keys}>
        {(found) =>
          found.length === 0 ? (
            <Empty title="No signing keys">Requests of http jobs of {namespace} are not signed.</Empty>
          ) : (
            <SimpleTable<SigningKey>
              label="Signing keys"
              rows={found}
              idOf={({ signing_key_id: id }) => id}
              columns={[
                {
                  key: 'id',
                  title: 'Id',
                  cell: ({ signing_key_id: id }) => (
                    <span className="mono" title={id}>
                      {id.slice(0, ID_SHOWN)}
                    </span>
                  ),
                },
                { key: 'state', title: 'State', cell: (key) => <State signingKey={key} /> },
                {
                  key: 'made',
                  title: 'Made',
                  from: 'sm',
                  cell: ({ created_at: at }) => <Instant at={at} />,
                },
                {
                  key: 'actions',
                  title: '',
                  cell: ({ signing_key_id: id }) =>
                    permission.allowed && (
                      <RemoveButton
                        label="Delete"
                        title={`Delete the signing key ${id.slice(0, ID_SHOWN)}?`}
                        effect={
                          found.length === 1
                            ? 'Requests are not signed any more within seconds. This cannot be undone.'
                            : 'No request carries its signature any more within seconds. This cannot be undone.'
                        }
                        queryKey={queryKeys.signingKeys()}
                        run={() => carillon.namespaces.signingKeys.remove(id)}
                      />
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

/** As much as tells the few keys of a namespace apart, also those that were made together. */
const ID_SHOWN = 13;

function State({ signingKey: { starts_at: from, ends_at: to } }: { signingKey: SigningKey }) {
  const now = useNow();
  if (to !== null && Date.parse(to) <= now)
    return (
      <>
        ended <Instant at={to} />
      </>
    );
  if (Date.parse(from) > now)
    return (
      <>
        signs from <Instant at={from} />
      </>
    );
  if (to === null) return 'signs';
  return (
    <>
      signs, ends <Instant at={to} />
    </>
  );
}

const STAY = 'stay';
const OTHERS = [
  { value: STAY, label: 'go on signing beside it' },
  { value: '3600', label: 'end after one hour' },
  { value: '86400', label: 'end after one day' },
  { value: '604800', label: 'end after seven days' },
  { value: '0', label: 'end at once, for good' },
];

function NewForm({ namespace, others }: { namespace: string; others: number }) {
  const queries = useQueryClient();
  const [overlap, setOverlap] = useState(STAY);
  const [made, setMade] = useState<CreatedSigningKey>();
  return (
    <FormDialog
      label="New signing key"
      title={`New signing key for ${namespace}`}
      submitLabel="Make the key"
      permission={usePermission('signing_keys.manage', { namespace })}
      done={made !== undefined}
      onSubmit={async (): Promise<undefined> => {
        const replaces = overlap === STAY ? {} : { overlap_seconds: Number(overlap) };
        setMade(await carillon.namespaces.signingKeys.create(namespace, replaces));
        await queries.invalidateQueries({ queryKey: queryKeys.signingKeys() });
      }}
      onClose={() => {
        setMade(undefined);
        setOverlap(STAY);
      }}
    >
      {made ? (
        <ShownOnce
          value={made.secret}
          label="Copy the secret"
          note="Receivers verify signatures with it. docs/verify-requests.md shows how."
        />
      ) : (
        <>
          <Text size="sm">It begins to sign at once, on all servers within seconds.</Text>
          {others > 0 && (
            <Select
              label="The other keys"
              description="Until they end, each request carries their signatures, too: time for receivers to learn the new secret."
              data={OTHERS}
              value={overlap}
              allowDeselect={false}
              onChange={(value) => setOverlap(value ?? STAY)}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
