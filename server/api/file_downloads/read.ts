import { settled } from '../../engine/ingest/lock.ts';
import { NonRetryableError } from '../../engine/model/destination/errors.ts';
import { toStored } from '../../engine/model/ledger/rectangles.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { backfillArea } from '../../engine/exports/planning/backfill_area.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { cutSlices } from '../../engine/exports/source/cut_slices.ts';
import { streamSlice } from '../../engine/exports/source/source.ts';
import { columnsOf, openSourceQuery } from '../../engine/exports/source/source_query.ts';
import { encodeStage } from '../../engine/destinations/formats/encode_stage.ts';
import { fileSliceBytes } from '../../engine/destinations/formats/file_config.ts';
import type { StoredSlice } from '../../engine/model/run.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { file_destination } from './schema.ts';
import { claimDownload, encodingOf, settleDownload } from './store.ts';
import type { DownloadSource } from './store.ts';

/**
 * Time limit of an attempt to count a download's rows; the lease of a dead process is a little
 * longer.
 */
const counting_seconds_max = 120;
const lease_seconds = counting_seconds_max + 30;
const attempts_max = 3;
const wait_seconds = 5;

/**
 * Counts the rows of downloads and divides them into files, the oldest download first. Returns the
 * number of processed downloads. Guarantees: several processes never count the same download, and
 * another process continues after a kill. A range that cannot be counted in time ends as Failed
 * with what to do.
 */
export async function countDownloads(engine: Engine, signal: AbortSignal): Promise<number> {
  const { db, settle_seconds } = engine;
  let looked = 0;
  for (; !signal.aborted; looked += 1) {
    const download = await claimDownload(db, { settle_seconds, lease_seconds });
    if (download === undefined) break;
    await settleDownload(db, download, await counted(engine, download, signal));
  }
  return looked;
}

async function counted(
  engine: Engine,
  download: DownloadSource,
  stop: AbortSignal,
): Promise<Parameters<typeof settleDownload>[2]> {
  const time = AbortSignal.timeout(counting_seconds_max * 1000);
  try {
    if (!(await isFinal(engine, download))) return { wait_seconds };
    return { slices: await slicesOf(engine, download, AbortSignal.any([time, stop])) };
  } catch (error) {
    if (stop.aborted) return { wait_seconds: 0 };
    if (error instanceof NonRetryableError) return { failed: error.message };
    engine.log.warn({ err: error, file_download: download.id }, 'a download could not be counted');
    if (download.attempts < attempts_max) return { wait_seconds };
    return {
      failed: time.aborted
        ? 'Counting its rows takes more than two minutes: ask for a shorter range.'
        : 'The analytics store failed three times: ask for the download again.',
    };
  }
}

/** Returns true if no more rows can appear below the watermark of the download. */
async function isFinal({ db }: Engine, { team_id, watermark }: DownloadSource): Promise<boolean> {
  const final = await db.transaction(async (tx) => {
    await tx.text("SET LOCAL lock_timeout = '5s'");
    return settled(tx, team_id);
  });
  return Date.parse(final) >= Date.parse(watermark);
}

async function slicesOf(
  engine: Engine,
  download: DownloadSource,
  signal: AbortSignal,
): Promise<StoredSlice[]> {
  const bytes_max = fileSliceBytes({ prefix: '', max_file_size_mb: download.max_file_size_mb });
  const bound =
    bytes_max === undefined
      ? undefined
      : {
          bytes_max,
          encoding: encodingOf(download),
          columns: columnsOf(download, file_destination.column_set),
          is_rough: file_destination.slices_are_rough === true,
        };
  return caughtUp(engine.clickhouse, row_tables, async () =>
    cutSlices(engine, await openSourceQuery(engine, sourceOf(download)), bound, signal),
  );
}

/**
 * Returns the bytes of a part, in the form of an export to files, from the current rows. The stream
 * fails if the store fails; aborting the signal ends the query.
 */
export async function partOf(
  engine: Engine,
  download: DownloadSource & { slice: StoredSlice },
  signal: AbortSignal,
) {
  const encoding = encodingOf(download);
  const columns = columnsOf(download, file_destination.column_set);
  const reading = await openSourceQuery(engine, sourceOf(download));
  const rows = await streamSlice(engine, reading, download.slice, columns, encoding, signal);
  return encodeStage(encoding).pipeline(rows);
}

function sourceOf(download: DownloadSource) {
  const { team_id, model, custom_query, event_filter, selects_by, start_at, end_at } = download;
  const [from, to] = [Date.parse(start_at), Date.parse(end_at)];
  const area = backfillArea(selects_by, from, to, Date.parse(download.watermark));
  return {
    team_id,
    model,
    custom_query,
    destination_config: event_filter,
    // A range after the watermark has no rows.
    selection: toStored(area.inserted_from < area.inserted_to ? [area] : []),
    data_interval_end: end_at,
  };
}
