import { parseDeliveryName } from '../../destinations/formats/naming.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import { earliestOf } from '../../model/ledger/removed.ts';
import type { Engine } from '../engine.ts';
import type { DeliveryRun } from './deliveries.ts';
import { locateRows } from './locate.ts';
import type { StoredAt } from './locate.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import { listPlannedSince, listUnsettled } from './unsettled.ts';
import type { Unsettled } from './unsettled.ts';
import type { finding_kinds } from './verification.ts';

/** A difference that is a fault, with its delivery if known. */
export type Judged = Pick<
  Difference,
  'name' | 'detail' | 'column' | 'expected' | 'found' | 'rows'
> & {
  kind: (typeof finding_kinds)[number];
  run: DeliveryRun | undefined;
};

/** The start of a look at deliveries, and the deliveries that were in progress then. */
export type Moment = { since: string; unsettled: Unsettled[] };

/**
 * Assigns each difference to its delivery, and ignores differences of deliveries in progress: a
 * destination shows their rows before they count as delivered.
 */
export async function judge(
  engine: Engine,
  row: LookedAtExport,
  moment: Moment,
  { runs, differences }: { runs: DeliveryRun[]; differences: Difference[] },
  signal: AbortSignal,
): Promise<Judged[]> {
  if (differences.length === 0) return [];
  const known = new Set(runs.map(({ delivery_id }) => delivery_id.slice(-12)));
  const later = [
    ...moment.unsettled,
    ...(await listUnsettled(engine.db)),
    ...(await listPlannedSince(engine.db, row.id, moment.since)),
  ].filter(({ delivery }) => !known.has(delivery));
  const names = new Set(later.map(({ delivery }) => delivery));
  const coming = later
    .filter(({ batch_export_id }) => batch_export_id === row.id)
    .map(({ selection }) => areasOf(selection));
  const stored = await locateRows(engine, row, differences, signal);
  const isComing = (difference: Difference): boolean => {
    const { delivery } = parseDeliveryName(difference.name) ?? {};
    if (delivery !== undefined && names.has(delivery)) return true;
    // A later version of a person replaces the delivered one.
    const mayCome =
      difference.kind === 'added' ||
      difference.about === 'repetition' ||
      (row.model !== 'events' && difference.kind === 'changed');
    return (
      mayCome &&
      (stored.get(difference.key ?? '') ?? []).some((at) => coming.some((area) => has(area, at)))
    );
  };
  const runOf = openFinder(runs, stored);
  return differences
    .filter((difference) => !isComing(difference))
    .map((difference) => ({ ...shownOf(difference), run: runOf(difference) }));
}

function shownOf(difference: Difference): Omit<Judged, 'run'> {
  const { name, detail, column, expected, found, rows } = difference;
  return { kind: kindOf(difference), name, detail, column, expected, found, rows };
}

function kindOf({ kind, about }: Difference): Judged['kind'] {
  if (about === 'receipt') return 'receipt';
  if (about === 'repetition') return 'doubled';
  return kind === 'added' ? 'foreign' : kind;
}

/** Finds the run of a difference: by its delivery, otherwise by the newest version of its row. */
function openFinder(
  runs: DeliveryRun[],
  stored: Map<string, StoredAt[]>,
): (difference: Difference) => DeliveryRun | undefined {
  const by_delivery = new Map(runs.map((run) => [run.delivery_id, run]));
  const by_key = new Map<string, DeliveryRun | undefined>();
  const areas = runs.map((run) => ({ run, area: areasOf(run.selection) }));
  const find = (key: string) =>
    (stored.get(key) ?? [])
      .map((at) => areas.find(({ area }) => has(area, at))?.run)
      .find((run) => run !== undefined);
  return ({ kind, delivery_id, key }) => {
    if (delivery_id !== undefined) return by_delivery.get(delivery_id);
    if (key === undefined || kind === 'added') return undefined;
    if (!by_key.has(key)) by_key.set(key, find(key));
    return by_key.get(key);
  };
}

/** Returns the earliest insertion, in milliseconds, that a fault makes doubtful; null: none. */
export function doubtfulFrom({ kind, run }: Judged, range_start: string | null): number | null {
  if (kind === 'foreign') return null;
  if (run !== undefined) return earliestOf(fromStored(run.selection));
  return range_start === null ? -Infinity : Date.parse(range_start);
}

const areasOf = (selection: StoredRectangle[]): Rectangle[] => fromStored(selection);

function has(area: Rectangle[], { happened, inserted }: StoredAt): boolean {
  return area.some(
    (side) =>
      inserted >= side.inserted_from &&
      inserted < side.inserted_to &&
      (happened === null || (happened >= side.event_from && happened < side.event_to)),
  );
}
