/** What a worker may say on its stream: messages of every kind, about runs of its own making and of others, also cut and bent. */
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import fc from 'fast-check';

/** What the liar has found out. */
export interface Known {
  /** Leases of the honest worker: one that it holds, and one whose runs have ended. */
  readonly held: string;
  readonly ended: string;
  /** The epoch of all runs. */
  readonly epoch: number;
  readonly workerId: string;
  readonly bootId: string;
}

/** Bytes on the wire. whole: they are one message of gRPC, however bent. */
export interface Lie {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

type Frame = MessageInitShape<typeof P.SessionRequestSchema>;

const NOBODYS = '01890000-0000-7000-8000-000000000000';
const LEASES = ['held', 'held', 'held', 'ended', NOBODYS, '', 'HELD', "'; DROP TABLE leases; --"] as const;
const POSITIONS = [0, 0, 0, 1, 2, 3, 32_767, 32_768, 2 ** 31, 2 ** 32 - 1];
const TEXTS = [
  '',
  '"forged"',
  '{"a":1}',
  'forged',
  '\u0000',
  'x'.repeat(300),
  '{"$stored":{"bytes":5}}',
  '🙂',
];
const INSTANTS = [0n, 1n, -1n, 1_900_000_000_000n, 2n ** 63n - 1n, -(2n ** 63n)];
const COUNTS = [0n, 1n, 2n, 2n ** 40n, 2n ** 64n - 1n];
const KINDS = [0, 1, 2, 3, 4, 5, 99];

const position = fc.constantFrom(...POSITIONS);
const epochShift = fc.constantFrom(0, 0, 0, 1, -1, 2 ** 31 - 1, 2 ** 32 - 2);
const text = fc.constantFrom(...TEXTS);
const instant = fc.constantFrom(...INSTANTS);
const count = fc.constantFrom(...COUNTS);
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 3 });
const bytes = fc.oneof(fc.uint8Array({ maxLength: 50 }), fc.constant(Buffer.from('forged output\n')));

function frames(known: Known): fc.Arbitrary<Frame> {
  const leaseId = fc
    .constantFrom(...LEASES)
    .map((which) => (which === 'held' || which === 'ended' ? known[which] : which.toLowerCase()));
  const epoch = epochShift.map((shift) => (known.epoch + shift) >>> 0);
  const ref = { leaseId, position, epoch };
  const outcome = fc.record({
    ...{
      position,
      kind: fc.constantFrom(...KINDS),
      error: text,
      retryable: fc.boolean(),
      retryAfterMs: count,
    },
    ...{ result: text, cpuSeconds: fc.constantFrom(0, -1, Number.NaN, 1e308) },
  });
  const column = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 0, maxLength: 3 });
  const ended = fc.oneof(
    // Columns of one length, and of any.
    fc
      .tuple(leaseId, position, epoch, instant, instant, few(outcome))
      .map(([lease, at, of, from, to, outcomes]) => ({
        ...{ leaseId: lease, positions: [at], epochs: [of], startedAtMs: [from], endedAtMs: [to], outcomes },
      })),
    fc.record({
      ...{ leaseId, positions: column(position), epochs: column(epoch) },
      ...{ startedAtMs: column(instant), endedAtMs: column(instant), outcomes: few(outcome) },
    }),
  );
  const slots = fc.constantFrom(0, 1, 4, 5, 10_000, 2 ** 32 - 1);
  const hello = fc.record({
    ...{
      protocol: fc.constantFrom(0, 1, 2),
      workerId: fc.constant(known.workerId),
      bootId: fc.constant(known.bootId),
    },
    session: fc.constantFrom(0, 1, 2 ** 31),
  });
  const frame = fc.record(
    {
      beat: fc.record({ sequence: fc.nat(), heldLeases: few(leaseId), stuck: slots }),
      capacity: fc.record({ slots, draining: fc.boolean() }),
      started: few(fc.record({ ...ref, startedAtMs: instant })),
      ended: few(ended),
      checkpoints: few(fc.record({ ...ref, sequence: fc.nat(), value: text })),
      outputs: few(fc.record({ ...ref, stream: fc.constantFrom(0, 1, 2, 7), atMs: instant, bytes })),
      progress: few(fc.record({ ...ref, percent: fc.constantFrom(-1, 50, 250, Number.NaN), message: text })),
      slotsFreed: count,
      resultParts: few(fc.record({ ...ref, sequence: fc.nat(), offset: count, bytes, bytesTotal: count })),
    },
    { requiredKeys: [] },
  );
  // A second hello and a leave end the stream, so they are rare.
  const last = fc.oneof(
    hello.map((said) => ({ hello: said })),
    fc.constant({ leave: true }),
  );
  return fc.oneof({ weight: 12, arbitrary: frame }, { weight: 1, arbitrary: last }) as fc.Arbitrary<Frame>;
}

const bends = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 });

function bent(message: Uint8Array, changes: readonly (readonly [number, number])[]): Uint8Array {
  const copy = Uint8Array.from(message);
  for (const [at, value] of changes) if (copy.length > 0) copy[at % copy.length] = value;
  return copy;
}

/** Most are messages as they should be, so that what they say is judged and not only how. */
export function lies(known: Known): fc.Arbitrary<Lie> {
  const whole = frames(known).map((frame) =>
    toBinary(P.SessionRequestSchema, create(P.SessionRequestSchema, frame)),
  );
  const said = (arbitrary: fc.Arbitrary<Uint8Array>, isWhole = true) =>
    arbitrary.map((message) => ({ bytes: message, isWhole }));
  return fc.oneof(
    { weight: 20, arbitrary: said(whole) },
    {
      weight: 3,
      arbitrary: said(fc.tuple(whole, bends).map(([message, changes]) => bent(message, changes))),
    },
    { weight: 1, arbitrary: said(fc.uint8Array({ maxLength: 200 })) },
    { weight: 1, arbitrary: said(fc.uint8Array({ minLength: 1, maxLength: 200 }), false) },
  );
}
