import { Type } from 'typebox';
import { health_codes } from '../../../engine/exports/health/state.ts';
import { entriesOf, pick, read } from '../api_call.ts';
import {
  default_limit,
  defineTool,
  limit,
  organization,
  organizationPath,
  project,
  projectPath,
} from '../tool.ts';

/** Fields of an export in a list. */
export const glance_fields = [
  'id',
  'team_id',
  'name',
  'model',
  'destination_type',
  'interval',
  'tags',
  'paused',
  'health',
  'delivered_until',
  'next_run',
  'open_runs',
  'latest_run',
] as const;

/** Lists the exports of a project or an organization, with their health in words. */
export const list_exports = defineTool({
  name: 'list_exports',
  title: 'List exports',
  description:
    'Batch exports with health in a word and a sentence, delivery progress, next and latest ' +
    'run. team_id is the project.',
  input: Type.Object({
    project,
    organization,
    health: Type.Optional(
      Type.String({
        maxLength: 200,
        description: `Only these, with commas: ${health_codes.join(', ')}.`,
      }),
    ),
    search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name.' })),
    tag: Type.Optional(Type.String({ maxLength: 50, description: 'Only with this tag.' })),
    limit,
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  }),
  scopes: ['batch_export:read'],
  run: async (args, { api }) => {
    const place =
      args.project === undefined && args.organization !== undefined
        ? organizationPath(args.organization)
        : projectPath(args.project);
    const answer = await read(api, `${place}overview/`, {
      health: args.health,
      search: args.search,
      tag: args.tag,
      limit: args.limit ?? default_limit,
      offset: args.offset,
      ordering: 'health',
      slots: 0,
    });
    const exports = entriesOf(answer).map((entry) => pick(entry, glance_fields));
    return { ...pick(answer, ['count', 'counts']), exports };
  },
});
