import { Type } from 'typebox';
import type { Static } from 'typebox';
import { instant, text, titled } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The fields about maintenance rounds of a table of files. */
export const maintenance_rounds = {
  due_at: instant('The next round starts after this time.'),
  finished_at: nullable(instant('End of the latest round. Null: none has ended yet.')),
  changed_at: nullable(instant('End of the latest round that changed something.')),
  changes: Type.Record(Type.String(), Type.Integer(), {
    description: 'Numbers of what that round changed, such as `files_compacted`.',
  }),
  detail: nullable(text('Parts that the latest round skipped, and why.')),
};

/** The maintenance of the Delta table that an export writes. */
export const ExportMaintenance = titled('ExportMaintenance', {
  ...maintenance_rounds,
  due_at: nullable(
    instant(
      'The next round starts after this time. Null: the export does not write a Delta table.',
    ),
  ),
});
export type ExportMaintenance = Static<typeof ExportMaintenance>;
