import { Type } from 'typebox';
import { uuid } from '../../../platform/http/schemas.ts';
import { entriesOf, pick, read } from '../api_call.ts';
import {
  batch_export,
  default_limit,
  defineTool,
  exportPath,
  instant,
  limit,
  project,
} from '../tool.ts';

const log_fields = ['timestamp', 'level', 'message', 'run'] as const;

/** Returns the log of an export or of one of its runs, newest first. */
export const read_logs = defineTool({
  name: 'read_logs',
  title: 'Read logs',
  description: 'Log lines of an export, or of one of its runs, newest first.',
  input: Type.Object({
    project,
    export: batch_export,
    run: Type.Optional(uuid('Run id.')),
    level: Type.Optional(
      Type.String({ maxLength: 100, description: 'With commas: DEBUG, INFO, WARNING, ERROR.' }),
    ),
    search: Type.Optional(
      Type.String({ maxLength: 1_000, description: 'Text that the line contains.' }),
    ),
    after: instant('Written after.'),
    before: instant('Written before.'),
    limit,
  }),
  scopes: ['batch_export:read'],
  run: async (args, { api }) => {
    const of_run = args.run === undefined ? '' : `runs/${args.run}/`;
    const answer = await read(api, `${exportPath(args.project, args.export)}${of_run}logs/`, {
      level: args.level,
      search: args.search,
      after: args.after,
      before: args.before,
      limit: args.limit ?? default_limit,
    });
    const lines = entriesOf(answer).map((entry) => pick(entry, log_fields));
    return { ...pick(answer, ['count']), lines };
  },
});
