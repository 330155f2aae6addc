import { Type } from 'typebox';
import type { Static } from 'typebox';
import { model_names } from '../../../engine/model/models/model.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { run_statuses } from '../runs/schema.ts';

/** Actions on many items at once. */
export const bulk_kinds = [
  'retry_runs',
  'cancel_runs',
  'pause_exports',
  'unpause_exports',
  'delete_exports',
] as const;
/** One of `bulk_kinds`. */
export type BulkKind = (typeof bulk_kinds)[number];

/** Returns true if the items of an action are runs; otherwise they are exports. */
export function isOfRuns(action: BulkKind): action is 'retry_runs' | 'cancel_runs' {
  return action === 'retry_runs' || action === 'cancel_runs';
}

/** Results of an item. */
const outcomes = ['pending', 'succeeded', 'unchanged', 'refused', 'aborted'] as const;

/** Most items of one action. */
export const items_max = 100_000;
/** Most ids that a body can list. */
const ids_max = 5_000;

const Filter = Type.Object(
  {
    batch_export: Type.Optional(uuid('Only this export, or only its runs.')),
    status: Type.Optional(
      Type.Array(Type.Enum([...run_statuses]), {
        minItems: 1,
        maxItems: run_statuses.length,
        description:
          'Runs with one of these statuses. Default: failed runs for a retry, unfinished runs ' +
          'for a cancel.',
      }),
    ),
    error_code: Type.Optional(
      Type.String({ maxLength: 200, description: 'Runs whose latest error has this code.' }),
    ),
    after: Type.Optional(instant('Runs whose data interval starts at or after this instant.')),
    before: Type.Optional(instant('Runs whose data interval starts before this instant.')),
    search: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Exports whose name contains this text, in any letter case.',
      }),
    ),
    model: Type.Optional(Type.Enum([...model_names], { description: 'Exports of this model.' })),
    destination_type: Type.Optional(
      Type.String({ maxLength: 100, description: 'Exports to this type of destination.' }),
    ),
    paused: Type.Optional(flag('Only paused or only active exports.')),
  },
  {
    // A misspelled filter must not select everything.
    additionalProperties: false,
    description:
      'Filters of the items; all sent ones must match. For runs they filter the exports too; ' +
      '`status`, `error_code`, `after` and `before` go with actions on runs only. A retry leaves ' +
      'out the runs that it would refuse, such as those that were retried since.',
  },
);

const asked = {
  ids: Type.Optional(
    Type.Array(uuid(), {
      minItems: 1,
      maxItems: ids_max,
      description: 'The runs or exports, one by one; instead of `filter`.',
    }),
  ),
  filter: Type.Optional(Filter),
  backfill: Type.Optional(flag('With `unpause_exports`: deliver the missed intervals.')),
};

/** The body that creates a bulk action. */
export const NewBulkAction = Type.Object({
  action: Type.Enum([...bulk_kinds], { description: 'The action on each item.' }),
  ...asked,
});
export type NewBulkAction = Static<typeof NewBulkAction>;

/** The body of `runs/bulk/` of an export. */
export const NewRunsAction = Type.Object({
  action: Type.Enum(['retry_runs', 'cancel_runs'], { description: 'The action on each item.' }),
  ids: asked.ids,
  filter: asked.filter,
});

/** A bulk action in answers. */
export const BulkAction = titled('BulkAction', {
  id: uuid('Id of the action.'),
  team_id: nullable(whole('The project concerned; null for the organization.')),
  action: Type.Enum([...bulk_kinds]),
  status: Type.Enum(['Running', 'Completed', 'Aborted'], {
    description: '`Completed`: every item has its result, even if it was refused.',
  }),
  detail: text('Its progress, in a sentence.'),
  progress: Type.Object({
    total: whole('Number of items at its creation.'),
    pending: whole('Number of waiting items.'),
    succeeded: Type.Integer(),
    unchanged: whole('Number of items that needed no change.'),
    refused: whole('Number of refused items; each names the reason.'),
  }),
  created_by: nullable(text('Email address of the person who asked for it.')),
  created_at: instant('Time of the request, which fixed the items.'),
  finished_at: nullable(instant('Time of its end; null while it is in progress.')),
  last_updated_at: instant('Time of its latest change.'),
});
/** A bulk action's row as SELECT returns it, without its sentence. */
export type BulkAction = Static<typeof BulkAction>;

/** The result for one run or export. */
export const BulkActionItem = titled('BulkActionItem', {
  number: whole('Its place, from 1 on.'),
  batch_export: uuid("The export, or the run's export."),
  name: text('The name of the export at that time.'),
  run: nullable(uuid('The run; null if the item is an export.')),
  outcome: Type.Enum([...outcomes], {
    description:
      '`unchanged`: it needed no change. `refused`: `detail` says why. `aborted`: the ' +
      'action ended before this item was processed.',
  }),
  detail: nullable(text('Why it was refused.')),
  new_run: nullable(uuid('The run that a retry created.')),
  finished_at: nullable(instant('When it was processed.')),
});
/** An item's row as SELECT returns it. */
export type BulkActionItem = Static<typeof BulkActionItem>;

/** The query of `items/`. */
export const ItemsQuery = Type.Object({
  ...PageQuery.properties,
  outcome: Type.Optional(
    Type.Enum([...outcomes], { description: 'Only items with this outcome.' }),
  ),
});
