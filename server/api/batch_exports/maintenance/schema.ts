import { Type } from 'typebox';
import type { Static } from 'typebox';
import { instant } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The rounds of maintenance of a table of files. */
export const maintenance_rounds = {
  due_at: instant('The next round begins after this.'),
  finished_at: nullable(instant('End of the latest round. Null: none has ended yet.')),
  changed_at: nullable(instant('End of the latest round that changed something.')),
  changes: Type.Record(Type.String(), Type.Integer(), {
    description: 'Numbers of what that round changed, such as `files_compacted`.',
  }),
  detail: nullable(Type.String({ description: 'What the latest round left alone, and why.' })),
};

/** The maintenance of the Delta table that an export writes. */
export const ExportMaintenance = Type.Object(
  {
    ...maintenance_rounds,
    due_at: nullable(
      instant('The next round begins after this. Null: the export writes no Delta table.'),
    ),
  },
  { title: 'ExportMaintenance' },
);
/** It as SELECT gives it. */
export type ExportMaintenance = Static<typeof ExportMaintenance>;
