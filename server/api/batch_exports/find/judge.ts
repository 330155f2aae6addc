import { NonRetryableError, RetryableError } from '../../../engine/model/destination/errors.ts';
import { rejectedKey } from '../../../engine/model/destination/rejected_rows.ts';
import type { StoredSlice } from '../../../engine/model/run.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { toStored } from '../../../engine/model/ledger/rectangles.ts';
import { eventFilterOf } from '../../../engine/model/models/event_filter.ts';
import { boundaryAfter, boundaryAtOrBefore } from '../../../engine/exports/planning/interval.ts';
import { ask } from '../../../engine/exports/source/source.ts';
import { openSourceQuery } from '../../../engine/exports/source/source_query.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { listSlotRanges } from '../slots/slots.ts';
import { findSchedule, inOneLook, withDelivered } from '../slots/store.ts';
import type { FoundExport } from './schema.ts';
import { sliceOf } from './slice.ts';
import {
  findMovedSlice,
  findSelectingRun,
  hasLaterVersion,
  keyOf,
  listRunSlices,
} from './store.ts';
import type { SearchedExport, SelectingRun, StoredRecord } from './store.ts';

const query_ms_max = 15_000;

/** The verdict on a record in an export, without the fields of the export. */
type Judged = Pick<FoundExport, 'state' | 'detail'> & Partial<FoundExport>;

/** Returns the place of a record in an export, or the reason for its absence. */
export async function judge(
  engine: Engine,
  organization_id: string,
  searched: SearchedExport,
  record: StoredRecord,
): Promise<FoundExport & { has_receipt: boolean }> {
  const found: Judged & { has_receipt?: boolean } =
    (await leftOut(engine, searched, record)) ??
    (await inRun(engine, searched, record)) ??
    (await inSlot(engine, organization_id, searched, record));
  return {
    batch_export: searched.id,
    name: searched.name,
    destination_type: searched.destination_type,
    reason: null,
    run: null,
    backfill: null,
    delivery_id: null,
    data_interval_start: null,
    data_interval_end: null,
    due_at: null,
    slice: null,
    receipt: null,
    has_receipt: false,
    ...found,
  };
}

/** Returns why no run of the export will ever deliver the record; undefined if one will. */
async function leftOut(
  engine: Engine,
  searched: SearchedExport,
  record: StoredRecord,
): Promise<Judged | undefined> {
  if (searched.model !== record.model)
    return {
      state: 'not_in_model',
      detail: `The export delivers ${searched.model}, and this record belongs to ${record.model}.`,
    };
  const { include_events, exclude_events } = eventFilterOf(searched.destination_config);
  if (record.event !== null && exclude_events.includes(record.event))
    return { state: 'excluded', detail: 'Its name is in `exclude_events` of the export.' };
  if (record.event !== null && include_events.length > 0 && !include_events.includes(record.event))
    return { state: 'excluded', detail: 'Its name is not in `include_events` of the export.' };
  return searched.custom_query === null ? undefined : leftOutByQuery(engine, searched, record);
}

/** Runs the query for this one row, as a run would. */
async function leftOutByQuery(
  engine: Engine,
  searched: SearchedExport,
  record: StoredRecord,
): Promise<Judged | undefined> {
  const inserted = Math.floor(record.inserted_us / 1000);
  const happened = record.happened_us === null ? null : Math.floor(record.happened_us / 1000);
  const selection = toStored([
    {
      event_from: happened ?? -Infinity,
      event_to: happened === null ? Infinity : happened + 1,
      inserted_from: inserted,
      inserted_to: inserted + 1,
    },
  ]);
  try {
    const data_interval_end = isoInstant(inserted + 1);
    const reading = await openSourceQuery(engine, { ...searched, selection, data_interval_end });
    if (reading.key === undefined)
      return {
        state: 'not_told',
        detail: 'Its query combines several records into rows, so Sluice cannot trace this one.',
      };
    const [row] = await ask<{ records: string | number }>(engine, reading, {
      query: `SELECT count() AS records FROM ${reading.text}
        WHERE toString(${reading.key}) = {wanted_key:String}`,
      parameters: { wanted_key: keyOf(record) },
      signal: AbortSignal.timeout(query_ms_max),
    });
    if (Number(row?.records ?? 0) > 0) return undefined;
    return { state: 'not_in_query', detail: 'The query of the export excludes it.' };
  } catch (error) {
    if (!(error instanceof NonRetryableError) && !(error instanceof RetryableError)) throw error;
    return { state: 'not_told', detail: `Its query failed: ${error.message}` };
  }
}

async function inRun(
  engine: Engine,
  searched: SearchedExport,
  record: StoredRecord,
): Promise<(Judged & { has_receipt: boolean }) | undefined> {
  const run = await findSelectingRun(engine.db, searched, record);
  if (run === undefined) return undefined;
  const slice = sliceOf(await listRunSlices(engine.db, run.id), record);
  const judged = rejectedIn(slice, record, await told(engine, searched, record, run));
  const name = slice?.outcome?.name;
  const moved =
    judged.state === 'delivered' && name !== undefined
      ? await findMovedSlice(engine.db, searched.id, name)
      : undefined;
  return {
    ...judged,
    ...(moved === undefined
      ? {}
      : { detail: `${judged.detail} Maintenance moved its row to ${moved}.` }),
    run: run.id,
    backfill: run.backfill,
    delivery_id: run.delivery_id,
    data_interval_start: run.data_interval_start,
    data_interval_end: run.data_interval_end,
    has_receipt: run.status === 'Completed' && run.has_receipt,
    slice:
      slice === undefined
        ? null
        : {
            number: slice.number,
            name: slice.outcome?.name ?? null,
            records: slice.records,
            bytes: slice.outcome?.bytes ?? null,
            sha256: slice.outcome?.sha256 ?? null,
          },
  };
}

/** A row that was set aside is neither delivered nor lost. */
function rejectedIn(slice: StoredSlice | undefined, record: StoredRecord, judged: Judged): Judged {
  const key = rejectedKey(keyOf(record));
  const rejected = slice?.outcome?.rejected?.find((one) => one.key === key);
  if (judged.state !== 'delivered' || rejected === undefined) return judged;
  return {
    state: 'rejected',
    detail:
      `The destination refused it (${rejected.code}), and it was set aside beside the table ` +
      'with the reason. Correct the cause of the refusal, then deliver the rejected rows of ' +
      'the run again.',
  };
}

async function told(
  { clickhouse }: Engine,
  searched: SearchedExport,
  record: StoredRecord,
  { status, has_begun_to_commit, latest_error, inserted_to }: SelectingRun,
): Promise<Judged> {
  if (
    record.model !== 'events' &&
    (await hasLaterVersion(clickhouse, searched.team_id, record, inserted_to))
  )
    return {
      state: 'superseded',
      detail: 'Its run delivered only the latest version of this record, which is a newer one.',
    };
  if (status === 'Completed')
    return { state: 'delivered', detail: 'It was delivered: the run has the receipt.' };
  if (status === 'Starting' || status === 'Running')
    return { state: 'under_way', detail: 'A run is delivering it.' };
  if (has_begun_to_commit)
    return {
      state: 'in_doubt',
      detail:
        'Its run failed during the commit, so its state is uncertain: retry the run to find out.',
    };
  if (status === 'Cancelled')
    return {
      state: 'missing',
      reason: 'cancelled',
      detail: 'Its run was cancelled: retry the run, or start a backfill.',
    };
  return { state: 'failed', detail: `Its run failed: ${latest_error ?? 'see its log.'}` };
}

/** Judges the record by the slot of its ingestion, if no run selects it. */
async function inSlot(
  engine: Engine,
  organization_id: string,
  { id }: SearchedExport,
  { inserted_us }: StoredRecord,
): Promise<Judged> {
  const inserted = Math.floor(inserted_us / 1000);
  return inOneLook(engine.db, async (tx) => {
    const schedule = await findSchedule(tx, id);
    if (schedule === undefined)
      return { state: 'missing', detail: 'The export was deleted meanwhile.' };
    const from = boundaryAtOrBefore(schedule, inserted);
    const to = boundaryAfter(schedule, inserted);
    const wanted = { after: from, before: to, limit: 1 };
    const scheduled = await withDelivered(tx, organization_id, schedule, wanted);
    const [slot] = await listSlotRanges(engine, tx, scheduled, wanted);
    const { state, reason, detail } = slot!;
    const due_at = isoInstant(to + engine.settle_seconds * 1000);
    return {
      state,
      reason,
      detail:
        state === 'waiting'
          ? `Ingested at ${isoInstant(inserted)}. The run planned at ${due_at} delivers it.`
          : detail,
      data_interval_start: isoInstant(from),
      data_interval_end: isoInstant(to),
      due_at: state === 'waiting' ? due_at : null,
    };
  });
}
