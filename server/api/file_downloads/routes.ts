import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { columnsOf } from '../../engine/exports/source/source_query.ts';
import { eventFilterOf } from '../../engine/model/models/event_filter.ts';
import { timesOf } from '../../engine/exports/planning/backfill_area.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import type { Activity } from '../../platform/activity/chain.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalidMany, missing, throttled } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { addList, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { partOf } from './read.ts';
import { FileDownload, NewFileDownload, file_destination, range_days_max } from './schema.ts';
import {
  countOpenDownloads,
  deleteDownload,
  fileName,
  findDownload,
  findExportContent,
  findPart,
  insertDownload,
  listDownloads,
  shownDownload,
} from './store.ts';
import type { Asked } from './store.ts';

const base = '/api/projects/:project_id/file_downloads/';
const reading = { scope: 'batch_export:read', within: 'project' } as const;
const writing = { scope: 'batch_export:write', within: 'project' } as const;
/** Most unexpired downloads of an organization. */
export const open_downloads_max = 10;
/** Most parts that one organization fetches from a process at a time. */
const parts_at_once_max = 3;
const day_ms = 24 * 3_600_000;
const bytes_type = 'application/octet-stream';

/**
 * Routes of `/api/projects/:project_id/file_downloads/`: one-time downloads of a range of rows as
 * files.
 */
export function fileDownloadRoutes(app: FastifyInstance, deps: Deps): void {
  listRoute(app);
  createRoute(app);
  recordRoutes(app, deps);
  partRoute(app, deps);
}

function listRoute(app: FastifyInstance): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the unexpired downloads of a project, newest first',
    answer: FileDownload,
    rows: ({ access }) => listDownloads(access.team_id!),
    shown: shownDownload,
  });
}

function createRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: base,
    config: writing,
    summary: 'Download a range of rows as files, once',
    description:
      'Counts the rows of a model or an export in the range, and cuts them into files. Poll ' +
      'the answered download until its status is `Completed`, then fetch its parts. It ' +
      'moves no schedule and counts as no delivery. It is removed after 24 hours. An ' +
      `organization has at most ${open_downloads_max} downloads; more are 429.`,
    body: NewFileDownload,
    response: { 202: FileDownload },
    work: async ({ request, tx, record }) => {
      const asked = await askedIn(request, tx);
      const { count, next_seconds } = await countOpenDownloads(tx, request.access.organization_id);
      if (count >= open_downloads_max) throw throttled(Math.max(1, next_seconds), [quota]);
      const id = await insertDownload(tx, asked);
      const created = (await findDownload(tx, asked.team_id, id))!;
      record(entryOf('created', created));
      return created;
    },
  });
}

const quota = {
  attr: null,
  detail:
    `This organization has ${open_downloads_max} downloads, the maximum: delete one, or wait ` +
    'until one expires.',
};

function recordRoutes(app: FastifyInstance, { db }: Deps): void {
  addRoute(app, {
    url: `${base}:id/`,
    config: reading,
    summary: 'Retrieve a download with its parts',
    response: { 200: FileDownload },
    handler: async (request) => (await findOwn(request, db)) ?? missing(),
  });
  addWrite(app, {
    method: 'DELETE',
    url: `${base}:id/`,
    config: writing,
    summary: 'Delete a download before it expires',
    response: { 204: Type.Null() },
    work: async ({ request, tx, record }) => {
      const found = (await findOwn(request, tx)) ?? missing();
      await deleteDownload(tx, request.access.team_id!, found.id);
      record(entryOf('deleted', found));
    },
  });
}

function findOwn(request: FastifyRequest, db: Queryable): Promise<FileDownload | undefined> {
  return findDownload(db, request.access.team_id!, uuidParameter(request, 'id'));
}

function partRoute(app: FastifyInstance, { db, engine }: Deps): void {
  const fetched = new Map<string, number>();
  addRoute(app, {
    url: `${base}:id/download/:part/`,
    // Requires the same scope as an export, which also reads rows.
    config: { ...writing, media_types: [bytes_type] },
    summary: 'Fetch a part of a download',
    description:
      'The bytes of one file, read from the store now. If the store fails, the ' +
      'connection is cut: fetch the part again.',
    response: {
      200: {
        description: 'The file.',
        content: { [bytes_type]: { schema: Type.String() } },
      },
    },
    handler: async (request, reply) => {
      const { team_id, organization_id: owner } = request.access;
      const { part } = request.params as { part: string };
      if (!/^[1-9]\d{0,5}$/.test(part)) return missing();
      const number = Number(part);
      const key = { team_id: team_id!, id: uuidParameter(request, 'id'), number };
      const found = (await findPart(db, key)) ?? missing();
      void reply.type(bytes_type);
      void reply.header('content-disposition', `attachment; filename="${fileName(found, number)}"`);
      if (request.method === 'HEAD') return reply.send('');
      const at_once = fetched.get(owner) ?? 0;
      if (at_once >= parts_at_once_max)
        throw throttled(5, [
          {
            attr: null,
            detail: 'Your organization is fetching three parts, the maximum: wait for one.',
          },
        ]);
      fetched.set(owner, at_once + 1);
      const gone = new AbortController();
      reply.raw.once('close', () => {
        gone.abort();
        const left = (fetched.get(owner) ?? 1) - 1;
        if (left === 0) fetched.delete(owner);
        else fetched.set(owner, left);
      });
      return reply.send(await partOf(engine, found, gone.signal));
    },
  });
}

/** Reads the requested download. Throws one 400 that names every fault. */
async function askedIn(request: FastifyRequest, tx: Transaction): Promise<Asked> {
  const sent = body(request, NewFileDownload);
  const { batch_export, start_at, end_at, file_format = 'JSONLines', compression = null } = sent;
  const { max_file_size_mb = null } = sent;
  const team_id = request.access.team_id!;
  const exported =
    batch_export === undefined
      ? undefined
      : await findExportContent(tx, { team_id, id: batch_export });
  const content = exported ?? {
    model: sent.model ?? 'events',
    custom_query: null,
    destination_config: sent,
  };
  const event_filter = eventFilterOf(content.destination_config);
  const { by: selects_by = timesOf(content.model)[0] } = sent;
  const wrong: Violation[] = [
    ...exportViolations(sent, exported !== undefined),
    ...rangeViolations(sent, await databaseInstant(tx)),
    ...formatViolations(sent),
    ...nameViolations(content, sent),
  ];
  if (!timesOf(content.model).includes(selects_by))
    wrong.push(
      fault('by', 'Persons only have the time of their latest change: leave this field out.'),
    );
  if (content.model !== 'events' && Object.values(event_filter).some((names) => names.length > 0))
    wrong.push(
      fault('include_events', 'Only events can be selected by name: leave the names out.'),
    );
  if (wrong.length > 0) throw invalidMany(wrong);
  return {
    team_id,
    batch_export_id: batch_export ?? null,
    model: content.model,
    custom_query: content.custom_query,
    event_filter,
    selects_by,
    start_at,
    end_at,
    file_format,
    compression,
    max_file_size_mb,
    created_by: request.caller.user_id,
  };
}

const fault = (attr: string, detail: string): Violation => ({
  attr,
  code: 'invalid_input',
  detail,
});

function exportViolations(sent: NewFileDownload, is_found: boolean): Violation[] {
  if (sent.batch_export === undefined) return [];
  if (!is_found) return [fault('batch_export', 'The project has no export with this id.')];
  const beside = ['model', 'include_events', 'exclude_events'] as const;
  return beside
    .filter((name) => sent[name] !== undefined)
    .map((name) =>
      fault(name, 'The export defines it: leave this field out, or leave out batch_export.'),
    );
}

function rangeViolations({ start_at, end_at }: NewFileDownload, now: number): Violation[] {
  const [from, to] = [Date.parse(start_at), Date.parse(end_at)];
  if (from > now) return [fault('start_at', 'Must not be in the future.')];
  if (from >= to) return [fault('end_at', 'The end must be after the start.')];
  if (to - from > range_days_max * day_ms)
    return [
      fault('start_at', `The range has more than ${range_days_max} days: request two downloads.`),
    ];
  return to > now ? [fault('end_at', 'Must not be in the future.')] : [];
}

function formatViolations({ file_format, compression, max_file_size_mb }: NewFileDownload) {
  const config = { prefix: 'download', file_format, compression, max_file_size_mb };
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  return (file_destination.validate?.(Object.fromEntries(given) as never) ?? []).map(
    ({ attr, detail }) => fault(attr, detail),
  );
}

/** Avro allows only few characters in column names. */
function nameViolations(
  content: Parameters<typeof columnsOf>[0],
  { file_format }: NewFileDownload,
): Violation[] {
  if (file_format !== 'Avro') return [];
  const columns = columnsOf(content, file_destination.column_set);
  const faults =
    file_destination.columnFaults?.(columns, { prefix: 'download', file_format }) ?? [];
  return faults.map((detail) => fault('file_format', detail));
}

/** Returns the activity entry for a created or deleted download. */
function entryOf(activity: 'created' | 'deleted', shown: FileDownload): Activity {
  const { id, batch_export, model, start_at, end_at, by, file_format } = shown;
  const said = { batch_export, model, start_at, end_at, by, file_format };
  return {
    activity,
    scope: 'file_download',
    item_id: id,
    item_name: null,
    changes: activity === 'created' ? changesOf(undefined, said) : changesOf(said, undefined),
  };
}
