/** All keys of the page, on `?`. */
import { Kbd, Modal, Table } from '@mantine/core';
import { may, useCaller } from '../api/session.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'find anything'],
  ['/', 'to the first filter of a list'],
  ['Esc', 'out of a filter'],
  ['g o', 'overview'],
  ['g j', 'jobs'],
  ['g r', 'runs'],
  ['g d', 'dead letters'],
  ['g w', 'workers'],
  ['g s', 'settings'],
  ['n', 'new job'],
  ['j k', 'down and up in a list'],
  ['Enter', 'open the row'],
  ['x', 'tick the row'],
  ['[ ]', 'earlier and later run of the same job'],
  ['e', 'edit the job'],
  ['r', 'run the job now'],
  ['p', 'pause and go on with live updates'],
  ['t', 'times in the next zone: of the browser, UTC, the last other one'],
  ['?', 'this list'],
];

export function KeysDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const seesWorkers = may(useCaller(), 'workers.read');
  const shown = KEYS.filter(([, words]) => seesWorkers || words !== 'workers');
  return (
    <Modal opened={opened} onClose={onClose} title="Keys" centered>
      <Table verticalSpacing={4} aria-label="Keys">
        <Table.Tbody>
          {shown.map(([keys, words]) => (
            <Table.Tr key={keys}>
              <Table.Td w={110}>
                <Kbd>{keys}</Kbd>
              </Table.Td>
              <Table.Td>{words}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
