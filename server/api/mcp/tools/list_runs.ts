import { Type } from 'typebox';
import { entriesOf, nextCursor, pick, read } from '../api_call.ts';
import {
  batch_export,
  default_limit,
  defineTool,
  exportPath,
  instant,
  limit,
  next_page,
  project,
} from '../tool.ts';

/** Fields of a run. */
export const run_fields = [
  'id',
  'status',
  'kind',
  'data_interval_start',
  'data_interval_end',
  'records_completed',
  'records_rejected',
  'records_total_count',
  'bytes_completed',
  'error_code',
  'latest_error',
  'backfill',
  'created_at',
  'finished_at',
] as const;

/** Lists the runs of an export, newest first, and when the next one is planned. */
export const list_runs = defineTool({
  name: 'list_runs',
  title: 'List runs',
  description: 'Runs of an export, newest first, with rows and faults; when the next is due.',
  input: Type.Object({
    project,
    export: batch_export,
    status: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          'Only these, with commas: Starting, Running, Completed, Failed, FailedRetryable, ' +
          'Cancelled.',
      }),
    ),
    after: instant('Planned after.'),
    before: instant('Planned before.'),
    limit,
    cursor: next_page,
  }),
  scopes: ['batch_export:read'],
  run: async (args, { api }) => {
    const answer = await read(api, `${exportPath(args.project, args.export)}runs/`, {
      status: args.status,
      after: args.after,
      before: args.before,
      limit: args.limit ?? default_limit,
      cursor: args.cursor,
    });
    return {
      ...pick(answer, ['detail']),
      runs: entriesOf(answer).map((entry) => pick(entry, run_fields)),
      next_cursor: nextCursor(answer),
    };
  },
});
