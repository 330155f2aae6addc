import { Type } from 'typebox';
import { pick, read } from '../api_call.ts';
import type { ApiRecord } from '../api_call.ts';
import { untrusted } from '../marked_data.ts';
import { batch_export, defineTool, exportPath, project } from '../tool.ts';

const query_characters_max = 8_000;
const fields = [
  'id',
  'team_id',
  'name',
  'model',
  'interval',
  'paused',
  'pause_reason',
  'start_at',
  'end_at',
  'freshness_seconds',
  'rejected_rows',
  'next_run',
  'waiting_schema',
  'created_at',
  'last_updated_at',
  'managed_by',
];

/** Returns one export with its destination and query, without secrets. */
export const get_export = defineTool({
  name: 'get_export',
  title: 'Get an export',
  description: 'One export: destination with its settings (never secrets), query, schedule.',
  input: Type.Object({ project, export: batch_export }),
  scopes: ['batch_export:read'],
  run: async (args, { api, console_url }) => {
    const found = await read(api, exportPath(args.project, args.export));
    const { type, config } = found['destination'] as ApiRecord;
    return {
      ...pick(found, fields),
      destination: { type, config },
      custom_query: untrusted(found['custom_query'], query_characters_max),
      open: exportPage(console_url, found),
    };
  },
});

/** Returns the page of an export in the console. */
export function exportPage(console_url: string, found: ApiRecord): string {
  return `${console_url}/projects/${String(found['team_id'])}/exports/${String(found['id'])}`;
}
