import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { BatchExportRun } from '../runs/schema.ts';
import { BatchExport } from '../schema.ts';

/** The levels of log lines, least important first. */
export const log_levels = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;

/** The query parameters of both `logs/`. */
export const LogQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 500,
      description: 'Number of lines per page, 1 to 500; default 50.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Number of lines to skip; default 0.',
    }),
  ),
  after: Type.Optional(queryInstant('Only lines written after this instant.')),
  before: Type.Optional(queryInstant('Only lines written before this instant.')),
  search: Type.Optional(
    Type.String({
      maxLength: 1000,
      description: 'Only lines whose message contains this text, in upper or lower case.',
    }),
  ),
});
export type LogQuery = Static<typeof LogQuery>;

/** The documented parameters. `level` may be repeated; other parameters may not. */
export const DocumentedLogQuery = Type.Object({
  ...LogQuery.properties,
  level: Type.Optional(
    Type.Array(Type.String(), {
      description:
        `Only lines of these levels (${log_levels.join(', ')}); repeated or separated by ` +
        'commas.',
    }),
  ),
});

/** One line of the log. */
export const LogEntry = titled('BatchExportLogEntry', {
  timestamp: instant(),
  level: Type.Enum([...log_levels]),
  message: Type.String(),
  run: nullable(uuid('The run that the line is about; null for the export itself.')),
});
export type LogEntry = Static<typeof LogEntry>;

const envelope = {
  count: whole('Number of all matching lines.'),
  next: nullable(Type.String({ format: 'uri' })),
  previous: nullable(Type.String({ format: 'uri' })),
  results: Type.Array(LogEntry, { description: 'The lines, newest first.' }),
};

/** The answer of an export's `logs/`: the export with its log lines beside it. */
export const BatchExportLogs = titled('BatchExportLogs', {
  ...BatchExport.properties,
  ...envelope,
});

/** The answer of a run's `logs/`: the run with its log lines beside it. */
export const BatchExportRunLogs = titled('BatchExportRunLogs', {
  ...BatchExportRun.properties,
  ...envelope,
});
