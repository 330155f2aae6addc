import { Type } from 'typebox';
import { uuid } from '../../../platform/http/schemas.ts';
import type { ApiRecord } from '../api_call.ts';
import { entriesOf, pick, read } from '../api_call.ts';
import { defineTool, project, projectPath } from '../tool.ts';

const record_fields = [
  'model',
  'uuid',
  'event',
  'distinct_id',
  'person_version',
  'timestamp',
  'inserted_at',
] as const;
const export_fields = [
  'batch_export',
  'name',
  'destination_type',
  'state',
  'reason',
  'detail',
  'run',
  'delivery_id',
  'data_interval_start',
  'data_interval_end',
  'due_at',
  'slice',
  'receipt',
] as const;

const tool_fields = ['plugin_config', 'name', 'state', 'detail', 'sends'] as const;

/** Finds the place of an event or a person, or the reason for its absence. */
export const find_record = defineTool({
  name: 'find_record',
  title: 'Find a record',
  description:
    'Where an event or person was delivered (run, file or table), or why not, in each export ' +
    'of the project, and which tools got an event. Send uuid, or distinct_id and day.',
  input: Type.Object({
    project,
    uuid: Type.Optional(uuid('uuid of an event.')),
    distinct_id: Type.Optional(Type.String({ maxLength: 400 })),
    day: Type.Optional(
      Type.String({
        maxLength: 10,
        description: 'For example 2026-01-31, in the time zone of the project.',
      }),
    ),
    export: Type.Optional(uuid('Only in this export.')),
  }),
  scopes: ['batch_export:read'],
  run: async (args, { api }) => {
    const answer = await read(api, `${projectPath(args.project)}find/`, {
      uuid: args.uuid,
      distinct_id: args.distinct_id,
      day: args.day,
      batch_export: args.export,
    });
    return {
      ...pick(answer, ['detail', 'timezone', 'has_more_records', 'exports_left_out']),
      records: entriesOf(answer, 'records').map(shownRecord),
    };
  },
});

function shownRecord(record: ApiRecord): ApiRecord {
  const exports = entriesOf(record, 'exports').map((found) => pick(found, export_fields));
  const tools = entriesOf(record, 'tools').map((found) => pick(found, tool_fields));
  return { ...pick(record, record_fields), exports, tools };
}
