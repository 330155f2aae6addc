import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { findFailedIntervals } from '../../../engine/exports/health/failed_intervals.ts';
import type { FailedInterval } from '../../../engine/exports/health/failed_intervals.ts';
import { deliveredSentence } from '../../../engine/exports/health/health.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { answerPage, pageAnswer, pageAsked } from '../../../platform/http/lists/pagination.ts';
import type { Page } from '../../../platform/http/lists/pagination.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { choicesAsked } from '../body/choices.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { Overview, OverviewQuery, default_slots, health_codes } from './schema.ts';
import type { ExportOverview, HealthCode } from './schema.ts';
import { countByHealth, countHealth, countOverview, listOverview, worstOf } from './store.ts';
import type { OverviewRow, OverviewWanted } from './store.ts';

// The choices of `health` may be repeated, which `choicesAsked` reads.
const { health: _health, ...single } = OverviewQuery.properties;
const SingleParameters = Type.Object(single);

/** `overview/` under one mount: how each export is, in words and numbers. */
export function overviewRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  const { base, within } = mount;
  app.get(
    base.replace(/batch_exports\/$/, 'overview/'),
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'How the batch exports are, at a glance',
        description:
          'Health in a word and a sentence, how fresh they are, the next run, and the rows of ' +
          'the latest runs. `counts` is about all exports of the place.',
        querystring: OverviewQuery,
        response: { 200: Overview },
      },
    },
    (request) => answerOverview(engine, request),
  );
}

async function answerOverview(engine: Engine, request: FastifyRequest) {
  const asked = query(request, SingleParameters);
  const wanted = {
    health: choicesAsked(request, 'health', health_codes),
    search: asked.search,
    model: asked.model,
    destination_type: asked.destination_type,
    batch_export: asked.batch_export,
    ordering: asked.ordering ?? ('-created_at' as const),
    slots: asked.slots ?? default_slots,
  };
  const counts = await countHealth(engine.db, request.access);
  const count = countByHealth(wanted, counts);
  const page =
    count === undefined
      ? await answerPage<OverviewRow>(request, engine.db, {
          rows: (one) => listOverview(request.access, wanted, one),
          count: countOverview(request.access, wanted),
        })
      : await answerCounted(engine, request, wanted, { counts, count });
  const failed = await findFailedIntervals(engine.db, page.results);
  const results = page.results.map((row) =>
    shown({ ...row, failed_interval: failed.get(row.id) ?? null }, engine.settle_seconds),
  );
  return { ...page, results, counts };
}

async function answerCounted(
  { db }: Engine,
  request: FastifyRequest,
  wanted: OverviewWanted,
  { counts, count }: { counts: Record<HealthCode, number>; count: number },
) {
  const page = pageAsked(request);
  const find = (of: OverviewWanted, one: Page) =>
    db.rows<OverviewRow>(listOverview(request.access, of, one));
  if (wanted.ordering !== 'health')
    return pageAnswer(request, page, count, await find(wanted, page));
  const worst = worstOf(wanted, counts, page);
  const rows = await find({ ...wanted, health: worst.health }, worst.page);
  // Fewer than were counted: some are of another health by now, and all have to be looked at.
  const isShort = rows.length < Math.min(page.limit, count - page.offset);
  return pageAnswer(request, page, count, isShort ? await find(wanted, page) : rows);
}

type Row = OverviewRow & Pick<ExportOverview, 'failed_interval'>;

function shown(row: Row, settle_seconds: number): ExportOverview {
  const { code, revision: _revision, next_run, ...more } = row;
  const { last_paused_at, pause_reason, failed_at, latest_error, ...fields } = more;
  const since =
    code === 'failing'
      ? failed_at
      : code === 'paused' || code === 'paused_automatically'
        ? (pause_reason?.at ?? last_paused_at)
        : null;
  return {
    ...fields,
    health: { code, detail: sentenceOf(row), since },
    next_run: next_run && {
      ...next_run,
      due_at: isoInstant(Date.parse(next_run.data_interval_end) + settle_seconds * 1000),
    },
  };
}

function sentenceOf(row: Row): string {
  const { code, retrying, failed_interval } = row;
  const own = sentenceOfHealth(row);
  // A failing one has its error in the sentence already.
  if (code === 'failing') return own;
  const isSame = retrying !== null && retrying.run_id === failed_interval?.retry_run_id;
  const gaps = [
    ...(failed_interval === null ? [] : [failedSentence(failed_interval)]),
    ...(retrying === null || isSame ? [] : [retryingSentence(retrying)]),
  ];
  if (gaps.length === 0) return own;
  const isSaid = code === 'incomplete' && row.next_run !== null;
  return isSaid || code === 'up_to_date' || code === 'waiting'
    ? [...gaps, deliveredSentence(row.delivered_until)].join(' ')
    : [own, ...gaps].join(' ');
}

const takenIn = (of: { data_interval_start: string; data_interval_end: string }) =>
  `events ingested from ${of.data_interval_start} to ${of.data_interval_end}`;

function retryingSentence(retrying: NonNullable<Row['retrying']>): string {
  return (
    `A run of its schedule is in retry since ${retrying.since}, for ${takenIn(retrying)}: ` +
    retrying.latest_error
  );
}

function failedSentence(failed: FailedInterval): string {
  const { run_id, retry_run_id, latest_error } = failed;
  const next =
    retry_run_id === null ? `retry it (run ${run_id})` : `run ${retry_run_id} retries it`;
  return (
    `A run of its schedule failed and nothing has delivered since ${takenIn(failed)}; ${next}: ` +
    (latest_error ?? 'no error was kept.')
  );
}

function sentenceOfHealth(row: OverviewRow): string {
  const { records_by_backfills: backfilled, pause_reason, latest_error, last_paused_at } = row;
  const until = deliveredSentence(row.delivered_until);
  switch (row.code) {
    case 'failing':
      return `Failing: ${latest_error ?? 'its latest run failed.'} ${until}`;
    case 'paused_automatically':
      return `Paused by the server: ${pause_reason!.detail}`;
    case 'paused':
      return `Paused${last_paused_at === null ? '' : ` since ${last_paused_at}`}. ${until}`;
    case 'late':
      return `Late. ${until}`;
    case 'incomplete':
      return row.next_run === null
        ? `Its schedule has ended (end_at), and one of its intervals is missing. ${until}`
        : `An interval of its schedule failed, and nothing has delivered it yet. ${until}`;
    case 'unusual_volume':
      return `Its latest run brought an unusual number of rows. ${until}`;
    case 'ended':
      return `Its schedule has ended (end_at). ${until}`;
    case 'waiting':
      return backfilled === null || backfilled === 0
        ? 'It waits for its first run.'
        : `Backfills have delivered ${backfilled} ${backfilled === 1 ? 'row' : 'rows'}; its ` +
            'schedule waits for its first run.';
    case 'up_to_date':
      return `Up to date. ${until}`;
  }
}
