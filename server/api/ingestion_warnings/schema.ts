import { Type } from 'typebox';
import type { Static } from 'typebox';
import { warning_outcomes, warning_reasons } from '../../engine/ingest/warnings/warning.ts';
import type { WarningReason } from '../../engine/ingest/warnings/warning.ts';
import { PageQuery } from '../../platform/http/lists/pagination.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { instant, titled, whole } from '../../platform/http/schemas.ts';

const reasons = Object.keys(warning_reasons) as WarningReason[];
const text = (description: string) => Type.Optional(Type.String({ description }));

/** An example event of a warning; texts are cut after 200 characters. */
const Example = titled('IngestionWarningExample', {
  at: instant('When it came.'),
  from: text('The protocol: the maker of the SDK, or `events`.'),
  event: text('Its name.'),
  distinct_id: text('Whose it was.'),
  uuid: text('Its uuid.'),
  sent: text('The value that was changed or refused, or its error.'),
});

/** Events that were refused or changed for one reason in one hour or day. */
export const IngestionWarning = titled('IngestionWarning', {
  start_at: instant('The hour or day (UTC).'),
  reason: Type.Enum(reasons, { description: 'Why; docs/ingestion_warnings.md explains each.' }),
  outcome: Type.Enum([...warning_outcomes], {
    description:
      '`refused`: not stored. `changed`: stored with changes. `kept`: stored unchanged, ' +
      'and probably wrong. `not_merged`: stored without the merge of persons. `repeated`: ' +
      'stored before. `put_off`: the sender has to send it again.',
  }),
  events: whole('Number of events; for `request_refused` and `request_put_off`, of requests.'),
  last_at: instant('Time of the latest one.'),
  examples: Type.Array(Example, { description: 'Examples, at most 5, newest first.' }),
});

/** A warning as SELECT returns it, without its outcome. */
export type IngestionWarningRow = Static<typeof IngestionWarning>;

/** The query parameters of the list. */
export const IngestionWarningQuery = Type.Object({
  ...PageQuery.properties,
  after: Type.Optional(queryInstant('Only hours from this instant on; default 30 days back.')),
  before: Type.Optional(queryInstant('Only hours that begin before this instant; default now.')),
  interval: Type.Optional(
    Type.Enum(['hour', 'day'], { description: 'Period of a count; default `hour`.' }),
  ),
  reason: Type.Optional(Type.Enum(reasons, { description: 'Only warnings with this reason.' })),
});
