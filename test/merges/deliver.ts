import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type {
  Delivery,
  Slice,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { Random } from '../chaos/random.ts';
import { killDeliveries } from '../processes/killed_delivery.ts';
import type { KillPlace } from '../processes/killed_delivery.ts';
import type { Accident } from './histories.ts';
import type { MergedTable } from './model.ts';
import type { MergePlace, MergeStore } from './stores.ts';

/** Counts of a campaign, of one store. */
export type Played = {
  histories: number;
  tables: number;
  key_changes: number;
  deliveries: number;
  rows: number;
  /** Killed worker processes, and the deliveries that they had begun. */
  kills: number;
  killed: number;
  broken: number;
  /** Commits that succeeded without an answer, and commits that never arrived. */
  unheard: number;
  unsent: number;
  repeated: number;
};

/** A delivery to a table; `known` are the slices that a killed worker has recorded. */
export type Sending = {
  delivery: Delivery;
  slices: ValueRow[][];
  accident: Accident;
  known: SliceOutcome[] | undefined;
};

const attempts_max = 8;
const committing_milliseconds_max = 30;

/** The text by which `verify` knows the receipt of a delivery. */
export function manifestOf({ delivery_id }: Delivery): string {
  return `{"id":"${delivery_id}"}`;
}

/** Starts deliveries in a process that is killed somewhere in the middle of each. */
export async function killSome(
  place: MergePlace,
  random: Random,
  sendings: Sending[],
  played: Played,
): Promise<void> {
  const all = sendings.map(({ delivery, slices }, index) => ({
    type: place.definition.type,
    config: place.config,
    delivery,
    slices: slices.map((rows) => ({
      base64: place.encode(rows, delivery.columns).toString('base64'),
      records: rows.length,
    })),
    manifest: manifestOf(delivery),
    place: killPlace(random, slices.length, index === sendings.length - 1),
  }));
  const after_milliseconds = random.between(0, committing_milliseconds_max);
  const known = await killDeliveries(all, { after_milliseconds });
  for (const [index, one] of sendings.entries()) one.known = known[index]!;
  played.kills += 1;
  played.killed += sendings.length;
}

/**
 * A delivery of one slice holds its rows locked before its commit, so the next one of the process
 * would wait for it.
 */
function killPlace(random: Random, slices: number, isLast: boolean): KillPlace {
  if (isLast && random.next() < 0.5) return 'committing';
  return slices === 1 ? 'committed' : random.one(['writing', 'written', 'committed'] as const);
}

/** Delivers like the engine: retries until the delivery is there, whatever happens meanwhile. */
export async function deliver(
  store: MergeStore,
  place: MergePlace,
  table: MergedTable,
  sending: Sending,
  random: Random,
  played: Played,
): Promise<void> {
  const { slices, accident, known } = sending;
  if (place.deliver !== undefined) return place.deliver(table, slices.flat());
  const outcomes = [...(known ?? [])];
  let breaks = accident === 'broken';
  const isStruck = accident === 'unheard' || accident === 'unsent';
  if (isStruck) store.loseCommit(random, accident === 'unheard');
  const first = known === undefined ? 1 : 2;
  let attempt = first;
  for (; ; attempt += 1) {
    try {
      await attemptAt(place, sending, { attempt, outcomes, breaks });
      break;
    } catch (error) {
      if (attempt === attempts_max) throw error;
      breaks = false;
    }
  }
  if (isStruck) store.loseNothing();
  if (accident === 'broken' || isStruck) assert.ok(attempt > first, `${accident} is no accident`);
  if (accident === 'repeated')
    await attemptAt(place, sending, { attempt: attempts_max + 1, outcomes, breaks: false });
  if (accident !== 'none' && accident !== 'killed') played[accident] += 1;
}

/** One worker's attempt; a broken attempt leaves its staged rows. */
async function attemptAt(
  { definition, config, deps, encode }: MergePlace,
  { delivery, slices }: Sending,
  given: { attempt: number; outcomes: SliceOutcome[]; breaks: boolean },
): Promise<void> {
  const { attempt, outcomes, breaks } = given;
  const sink = await definition.open(config, { ...delivery, attempt }, deps);
  try {
    if (await sink.isCommitted()) return;
    const kept = await sink.recover(outcomes);
    outcomes.splice(0, outcomes.length, ...kept);
    for (const [index, rows] of slices.entries()) {
      if (outcomes.some((outcome) => outcome.number === index)) continue;
      const bytes = encode(rows, delivery.columns);
      const slice: Slice = { number: index, records: rows.length };
      if (index === slices.length - 1) slice.is_last = true;
      const written = await sink.write(slice, Readable.from([bytes]));
      outcomes.push({
        number: index,
        records: rows.length,
        bytes: bytes.length,
        sha256: '',
        ...written,
      });
      if (breaks && index === 0) throw new Error('The worker breaks.');
    }
    outcomes.sort((one, other) => one.number - other.number);
    await sink.commit(outcomes, { name: 'manifest', text: manifestOf(delivery) });
  } finally {
    await sink.close();
  }
}
