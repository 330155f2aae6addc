import { Type } from 'typebox';
import type { ApiRecord } from '../api_call.ts';
import { entriesOf, nextCursor, pick, read } from '../api_call.ts';
import { untrusted } from '../marked_data.ts';
import {
  default_limit,
  defineTool,
  instant,
  limit,
  next_page,
  organization,
  organizationPath,
} from '../tool.ts';

const value_characters_max = 300;
const entry_fields = [
  'number',
  'created_at',
  'activity',
  'scope',
  'item_id',
  'item_name',
  'request_id',
] as const;

/** Lists the changes of people and keys in an organization, newest first. */
export const read_activity = defineTool({
  name: 'read_activity',
  title: 'Read activity',
  description: 'Who changed what in the organization, field by field, newest first.',
  input: Type.Object({
    organization,
    scope: Type.Optional(
      Type.String({ maxLength: 200, description: 'Kind of object: batch_export, project, ...' }),
    ),
    activity: Type.Optional(
      Type.String({ maxLength: 200, description: 'created, updated, deleted, paused, ...' }),
    ),
    item_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only this thing.' })),
    after: instant('From then on.'),
    before: instant('Before then.'),
    limit,
    cursor: next_page,
  }),
  scopes: ['activity_log:read'],
  within: 'organization',
  run: async (args, { api }) => {
    const { organization: id, limit: wanted, ...filter } = args;
    const answer = await read(api, `${organizationPath(id)}activity/`, {
      ...filter,
      limit: wanted ?? default_limit,
    });
    return { entries: entriesOf(answer).map(shownEntry), next_cursor: nextCursor(answer) };
  },
});

function shownEntry(entry: ApiRecord): ApiRecord {
  const user = entry['user'] as { email: string } | null;
  const key = entry['key'] as { mask_value: string } | null;
  return {
    ...pick(entry, entry_fields),
    by: user?.email ?? 'the server',
    key: key?.mask_value,
    changes: entriesOf(entry, 'changes').map(({ field, action, before, after }) => ({
      field,
      action,
      before: shownValue(before),
      after: shownValue(after),
    })),
  };
}

/** A field's value is untrusted, because people choose it. */
function shownValue(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean'
    ? value
    : untrusted(value, value_characters_max);
}
