import { coveredSpans } from '../../model/ledger/spans.ts';
import type { Span } from '../../model/ledger/spans.ts';
import { subtract, union, unionOf } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { every_event, eventFilterOf } from '../../model/models/event_filter.ts';
import type { EventFilter } from '../../model/models/event_filter.ts';
import { isReplacing } from '../../model/destination/write_mode.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';
import { isMadeOfEvents } from '../../model/models/model.ts';
import type { ModelName } from '../../model/models/model.ts';
import { retained_tables } from './retained_tables.ts';
import type { RetainedTable } from './retained_tables.ts';
import { cutoffOf } from './setting.ts';
import type { RetentionSetting } from './setting.ts';

/** The deliveries of one export, and the rows that it still needs. Instants are milliseconds. */
export type ExportFacts = {
  id: string;
  name: string;
  model: ModelName;
  revision: number;
  paused: boolean;
  custom_query: string | null;
  write_rule: WriteRule | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  planned_until: number;
  /** False if its schedule has ended. */
  goes_on: boolean;
  /** Start of its schedule in its current revision. */
  wanted_from: number;
  delivered: Rectangle[];
  runs: { area: Rectangle[]; is_open: boolean }[];
  backfills: { area: Rectangle[]; is_open: boolean; is_all: boolean }[];
};

/** The readers of a project's rows. */
export type Facts = { exports: ExportFacts[]; plugins: { name: string; from: number }[] };

/** Areas of an export that no receipt proves, by export id. */
export type Unproven = ReadonlyMap<string, Rectangle[]>;

/** A reader that holds back rows old enough for removal, and their first insertion. */
export type Keeper = { kind: 'batch_export' | 'plugin'; id: string | null; name: string } & {
  from: number | null;
};

/** The rows to remove: all were ingested before `before`, in milliseconds. */
export type Decision = {
  before: number;
  events: { filter: EventFilter; area: Rectangle[] }[];
  persons: Span[];
  keepers: Keeper[];
};

/** Number of rectangles of an area in one statement; the next statement has the others. */
const rectangles_max = 200;

/** Time for which earlier events of a session are kept: a session lasts a day at most. */
const session_ms = 2 * 24 * 3_600_000;

const all_time = { event_from: -Infinity, event_to: Infinity };
const since = (inserted_from: number): Rectangle => ({
  ...all_time,
  inserted_from,
  inserted_to: Infinity,
});

/**
 * Decides which rows of a project may be removed. Guarantees: it removes no row ingested within the
 * project's days or after `settled`, and no row that a run, a backfill or a schedule in progress
 * will read. With `until_delivered`, it only removes rows that an export delivered with a proven
 * receipt and that no export of the same rows may still need. Undecided rows stay.
 */
export function decide(
  setting: RetentionSetting,
  facts: Facts,
  unproven: Unproven,
  { now, settled }: { now: number; settled: number },
): Decision {
  const before = Math.min(cutoffOf(setting, now), settled);
  const isOld = (area: Rectangle[]) =>
    area
      .map((side) => ({ ...side, inserted_to: Math.min(side.inserted_to, before) }))
      .filter(isNotEmpty);
  const old = isOld([since(-Infinity)]);
  const isByDays = setting.retention === 'days';
  const held = facts.exports.map((one) => ({
    one,
    area: isOld(withSessions(one, isByDays ? aboutToRead(one) : mayWant(one, before))),
  }));
  const read = facts.plugins.map((one) => ({ one, area: isOld([since(one.from)]) }));
  const heldFrom = (table: RetainedTable) =>
    unionOf([
      ...held.filter(({ one }) => tablesOf(one).includes(table)).flatMap(({ area }) => area),
      ...(table === 'events' ? read.flatMap(({ area }) => area) : []),
    ]);
  // Computed once for all exports, which may be thousands.
  const kept = { events: heldFrom('events'), persons: heldFrom('persons') };
  const free = (area: Rectangle[], table: RetainedTable) =>
    subtract(isOld(area), kept[table]).slice(0, rectangles_max);
  const proving = facts.exports.filter(proves);
  const provenBy = (one: ExportFacts) => subtract(one.delivered, unproven.get(one.id) ?? []);
  const events = isByDays
    ? [{ filter: every_event, area: free(old, 'events') }]
    : proving
        .filter(({ model }) => model === 'events')
        .map((one) => ({
          filter: eventFilterOf(one.destination_config),
          area: free(provenBy(one), 'events'),
        }));
  const versions = isByDays
    ? old
    : proving
        .filter(({ model }) => model === 'persons')
        .reduce<Rectangle[]>((sum, one) => union(sum, provenBy(one)), []);
  return {
    before,
    events: events.filter(({ area }) => area.length > 0),
    persons: coveredSpans(free(versions, 'persons')),
    keepers: [
      ...held.map(({ one, area }) => keeperOf('batch_export', one.id, one.name, area)),
      ...read.map(({ one, area }) => keeperOf('plugin', null, one.name, area)),
    ].flat(),
  };
}

/** A query may read every table, and the rows that it skips were not delivered. */
function tablesOf({ model, custom_query }: ExportFacts): RetainedTable[] {
  if (custom_query !== null) return [...retained_tables];
  return [model === 'events' || isMadeOfEvents(model) ? 'events' : 'persons'];
}

/**
 * A session is computed from its earlier events too. They stay two days longer, so that a pending
 * read gets the whole session.
 */
function withSessions({ model }: ExportFacts, area: Rectangle[]): Rectangle[] {
  if (model !== 'sessions') return area;
  return area.map((side) => ({ ...side, inserted_from: side.inserted_from - session_ms }));
}

/**
 * Returns true if the export's receipts prove rows. A query may skip rows, and a replaced table
 * loses the rows that the source no longer has.
 */
export function proves({ custom_query, write_rule, destination_type }: ExportFacts): boolean {
  return custom_query === null && !isReplacing(write_rule) && destination_type !== 'NoOp';
}

/** Returns the areas of runs and backfills in progress, and the unplanned part of the schedule. */
function aboutToRead({ runs, backfills, paused, goes_on, planned_until }: ExportFacts) {
  return [
    ...runs.filter(({ is_open }) => is_open).flatMap(({ area }) => area),
    ...backfills.filter(({ is_open }) => is_open).flatMap(({ area }) => area),
    ...(paused || !goes_on ? [] : [since(planned_until)]),
  ].filter(isNotEmpty);
}

/**
 * Returns every undelivered area from the start of the schedule (also one skipped by a pause or a
 * failure), and the areas of runs and backfills. It also returns everything undelivered while the
 * export or its revision is young enough for a backfill.
 */
function mayWant(one: ExportFacts, before: number): Rectangle[] {
  const { wanted_from, planned_until, goes_on, delivered, runs, backfills } = one;
  const scheduled = {
    ...since(wanted_from > before ? -Infinity : wanted_from),
    inserted_to: goes_on ? Infinity : planned_until,
  };
  const missing = [scheduled, ...backfills.filter(({ is_all }) => !is_all).flatMap((b) => b.area)];
  return [
    ...missing.filter(isNotEmpty).flatMap((area) => subtract([area], delivered)),
    ...runs.flatMap(({ area }) => area),
    ...backfills.filter(({ is_all }) => is_all).flatMap(({ area }) => area),
  ];
}

function keeperOf(kind: Keeper['kind'], id: string | null, name: string, area: Rectangle[]) {
  if (area.length === 0) return [];
  const from = Math.min(...area.map(({ inserted_from }) => inserted_from));
  return [{ kind, id, name, from: Number.isFinite(from) ? from : null }];
}

function isNotEmpty({ inserted_from, inserted_to }: Rectangle): boolean {
  return inserted_from < inserted_to;
}
