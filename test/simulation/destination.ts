import assert from 'node:assert/strict';
import { text as readText } from 'node:stream/consumers';
import { Type } from 'typebox';
import { destinations } from '../../server/engine/destinations/index.ts';
import type {
  Delivery,
  DestinationDefinition,
  DestinationDeps,
  Sink,
} from '../../server/engine/model/destination/destination.ts';
import { NonRetryableError, RetryableError } from '../../server/engine/model/destination/errors.ts';
import type { KnownError } from '../../server/engine/model/destination/errors.ts';

/** The destination's treatment of the next delivery. */
export type Fate =
  | 'shows it'
  | 'does not open'
  | 'fails in a write'
  | 'refuses a row'
  | 'loses the stage'
  | 'refuses the commit'
  | 'refuses the commit for good'
  | 'shows it without an answer'
  | 'does not answer'
  | 'shows it late, without an answer';

/** The state of one delivery at the destination. */
export type Held = {
  staged: string[] | undefined;
  shown: string[] | undefined;
  late: (() => void) | undefined;
  /** True while nobody knows whether a commit will take effect. */
  is_unanswered: boolean;
  /** True once a commit was shown or not answered, so that its runs may be uncertain. */
  is_doubtful: boolean;
};

/** A place of the destination, with the visible rows of each delivery. */
export type Place = Map<string, Held>;

/** The destination of a simulation: its places, and its next answers. */
export type SimulatedDestination = {
  places: Map<string, Place>;
  fates: Fate[];
  /** Calls that no engine may make. */
  faults: unknown[];
  /** Waits for the turn of the process of this name. */
  step<Result>(process: string, label: string, work: () => Promise<Result>): Promise<Result>;
};

const config = Type.Object(
  {
    place: Type.Optional(Type.String({ default: '', description: 'Where the rows are shown.' })),
  },
  { additionalProperties: false },
);

let present: SimulatedDestination | undefined;

/**
 * A destination that stages rows and shows them at once, in memory, as its contract says. `type`
 * names two of them. One knows after `abort` that nothing is shown later. In the other one, a
 * commit without an answer may still be carried out.
 */
function define(type: string, is_settled_by_abort: boolean): DestinationDefinition<typeof config> {
  return {
    type,
    label: type,
    config,
    secrets: [],
    where: [],
    column_set: 'files',
    ...(is_settled_by_abort ? { is_settled_by_abort: true as const } : {}),
    validate: () => [],
    encoding: () => ({ format: 'JSONLines', compression: null }),
    open: (given, delivery, deps) =>
      open(present!, { place: given.place ?? '', is_settled_by_abort }, delivery, deps),
    check: async () => [],
    verify: async () => [],
    receipts: async function* () {},
  };
}

/** Adds the destinations of simulations to those of the server, for this process. */
export function addDestinations(): void {
  const list = destinations as unknown as DestinationDefinition<typeof config>[];
  list.push(define('Simulated', false), define('SimulatedSettled', true));
}

/** Sends deliveries to this one from now on. */
export function deliverTo(destination: SimulatedDestination): void {
  present = destination;
}

/** Applies the unanswered commits. */
export function showLate({ places }: SimulatedDestination): void {
  for (const place of places.values()) for (const { late } of place.values()) late?.();
}

async function open(
  destination: SimulatedDestination,
  { place: name, is_settled_by_abort }: { place: string; is_settled_by_abort: boolean },
  { delivery_id }: Delivery,
  { export_dir: process }: DestinationDeps,
): Promise<Sink> {
  const held = heldOf(destination, name, delivery_id);
  const { fates } = destination;
  const step = <Result>(label: string, work: () => Result) =>
    destination.step(process, `destination ${label}`, async () => work());
  const takeFate = (...those: Fate[]) => (those.includes(fates[0]!) ? fates.shift() : undefined);
  await step('open', () => {
    if (takeFate('does not open') !== undefined) throw silent();
    // Waits for the commit in progress.
    if (!is_settled_by_abort) return;
    held.late?.();
    held.is_unanswered = false;
  });
  let has_stage = false;
  return {
    isCommitted: () => step('isCommitted', () => held.shown !== undefined),
    recover: (outcomes) =>
      step('recover', () => {
        if (outcomes.length > 0 && takeFate('loses the stage') !== undefined)
          held.staged = undefined;
        has_stage = held.staged !== undefined;
        return has_stage ? outcomes : [];
      }),
    write: async (_slice, bytes) => {
      const lines = (await readText(bytes)).split('\n').filter(Boolean);
      return step('write', () => {
        const fate = takeFate('fails in a write', 'refuses a row', 'loses the stage');
        if (fate === 'fails in a write') throw silent();
        if (fate === 'refuses a row')
          throw new NonRetryableError('permission_denied', 'A row was refused.');
        has_stage = true;
        held.staged = lines.map((line) => (JSON.parse(line) as { uuid: string }).uuid);
        return { name: 'slice', state: null };
      });
    },
    commit: (outcomes) =>
      step('commit', () => {
        if (!has_stage && held.shown === undefined && outcomes.length > 0)
          destination.faults.push(new Error('What is lost counts as safe.'));
        commit(held, fates.shift() ?? 'shows it');
      }),
    abort: () =>
      step('abort', () => {
        held.staged = undefined;
        if (is_settled_by_abort) held.late = undefined;
      }),
    close: async () => undefined,
  };
}

function heldOf({ places }: SimulatedDestination, name: string, delivery_id: string): Held {
  const place: Place = places.get(name) ?? new Map();
  places.set(name, place);
  const held: Held = place.get(delivery_id) ?? {
    staged: undefined,
    shown: undefined,
    late: undefined,
    is_unanswered: false,
    is_doubtful: false,
  };
  place.set(delivery_id, held);
  return held;
}

function commit(held: Held, fate: Fate): void {
  const { staged } = held;
  if (staged === undefined && held.shown === undefined)
    throw new RetryableError('unreachable', 'The stage is gone.');
  const show = () => {
    held.late = undefined;
    if (staged === undefined) return;
    // A commit may be repeated, and its visible result never changes.
    if (held.shown !== undefined)
      assert.deepEqual(staged, held.shown, 'one delivery had two contents');
    held.shown = staged;
  };
  if (fate === 'refuses the commit') throw refused(RetryableError);
  if (fate === 'refuses the commit for good') throw refused(NonRetryableError);
  held.is_doubtful = true;
  if (fate === 'does not answer') {
    held.is_unanswered = true;
    throw silent();
  }
  if (fate === 'shows it late, without an answer') {
    held.late = show;
    throw silent();
  }
  show();
  if (fate === 'shows it without an answer') throw silent();
}

function refused(kind: typeof RetryableError | typeof NonRetryableError): KnownError {
  const error = new kind('permission_denied', 'The commit was refused.');
  error.is_certain = true;
  return error;
}

function silent(): RetryableError {
  return new RetryableError('unreachable', 'It went silent.');
}
