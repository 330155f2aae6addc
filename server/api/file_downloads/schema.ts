import { Type } from 'typebox';
import type { Static } from 'typebox';
import { findDestination } from '../../engine/destinations/index.ts';
import { file_keys } from '../../engine/destinations/formats/file_config.ts';
import { backfill_times } from '../../engine/exports/planning/backfill_area.ts';
import { filter_keys } from '../../engine/model/models/event_filter.ts';
import { model_names } from '../../engine/model/models/model.ts';
import { nullable } from '../../platform/nullable.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

/** The longest range in days: a month. */
export const range_days_max = 31;
/** The destination whose files a download has. */
export const file_destination = findDestination('File')!;

const by = 'The clock of the range, as in a backfill.';

/** The body of POST. */
export const NewFileDownload = Type.Object({
  batch_export: Type.Optional(
    uuid('The export whose model, query and event names are taken; without it: a model.'),
  ),
  model: Type.Optional(
    Type.Enum([...model_names], {
      description: 'Default `events`. Not allowed with `batch_export`.',
    }),
  ),
  start_at: instant('Start of the range (inclusive), with a zone.'),
  end_at: instant(
    `End of the range (exclusive): at most ${range_days_max} days later, and not in the future.`,
  ),
  by: Type.Optional(Type.Enum([...backfill_times], { description: by })),
  ...filter_keys,
  ...file_keys,
});
export type NewFileDownload = Static<typeof NewFileDownload>;

/** A download in answers. */
export const FileDownload = titled('FileDownload', {
  id: uuid(),
  project: whole('The project of the rows.'),
  batch_export: nullable(uuid('The export whose rows these are; null: those of a model.')),
  model: Type.Enum([...model_names]),
  start_at: instant('Start of the range (inclusive).'),
  end_at: instant('End of the range (exclusive).'),
  by: Type.Enum([...backfill_times], { description: by }),
  include_events: Type.Array(Type.String()),
  exclude_events: Type.Array(Type.String()),
  file_format: Type.String(),
  compression: nullable(Type.String()),
  max_file_size_mb: nullable(Type.Integer()),
  status: Type.Enum(['Starting', 'Completed', 'Failed'], {
    description: '`Starting`: Sluice is counting the rows. `Completed`: fetch the parts.',
  }),
  detail: text('The status as a sentence, with what to do.'),
  records: nullable(whole('Rows of all parts; null until counted.')),
  parts: Type.Array(
    Type.Object({
      number: whole('Its number, from 1 on.'),
      records: whole('Rows of the file at the time of counting.'),
      name: text('Name of the file.'),
    }),
    { description: 'The files, in the order of their rows.' },
  ),
  created_by: nullable(text('Who asked for it; null: no longer here.')),
  created_at: instant('Time of the request.'),
  expires_at: instant('When it is deleted.'),
});
export type FileDownload = Static<typeof FileDownload>;
