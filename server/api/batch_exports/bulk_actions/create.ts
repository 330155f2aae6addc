import { v7 as uuidv7 } from 'uuid';
import type { FastifyRequest } from 'fastify';
import { counted } from '../../../platform/counted.ts';
import { invalid, invalidMany } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { actorOf } from '../../../platform/http/write.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { instantViolations } from '../body/instants.ts';
import { isOfRuns, items_max } from './schema.ts';
import type { BulkAction, NewBulkAction } from './schema.ts';
import { beginBulkAction, insertBulkAction, insertItems } from './store.ts';
import type { BulkActionRow } from './store.ts';

/**
 * Creates the action of the body for everything that it selects now, and returns its id. Throws 400
 * for unknown ids, and for more items than one action may have.
 */
export async function createBulkAction(
  request: FastifyRequest,
  tx: Transaction,
  wanted: NewBulkAction,
): Promise<string> {
  const violations = violationsOf(wanted);
  if (violations.length > 0) throw invalidMany(violations);
  const created = {
    id: uuidv7(),
    place: request.access,
    action: wanted.action,
    options: { backfill: wanted.backfill ?? false },
    // The action's entries are written later, so they do not get the id of this request.
    actor: { ...actorOf(request, undefined), request_id: null },
  };
  await insertBulkAction(tx, created);
  const total = await insertItems(tx, created, wanted, items_max);
  if (total > items_max)
    throw invalid(
      'filter',
      'max_items',
      `This selects more than ${items_max} items, the most of one action: narrow the filter.`,
    );
  const missing = wanted.ids === undefined ? 0 : new Set(wanted.ids).size - total;
  if (missing > 0)
    throw invalid(
      'ids',
      'invalid_input',
      `${counted(missing, 'id')} of the list ${missing === 1 ? 'does' : 'do'} not exist, or ` +
        `${missing === 1 ? 'does' : 'do'} not match the filter: send only ids that do.`,
    );
  await beginBulkAction(tx, created.id, total);
  return created.id;
}

const conditions_of_runs = ['status', 'error_code', 'after', 'before'] as const;

function violationsOf({ action, ids, filter, backfill }: NewBulkAction): Violation[] {
  const violations: Violation[] = [];
  if (ids === undefined && filter === undefined)
    violations.push({
      attr: 'filter',
      code: 'required',
      detail: 'Send `filter` or `ids`; an empty filter means all.',
    });
  if (backfill !== undefined && action !== 'unpause_exports')
    violations.push({
      attr: 'backfill',
      code: 'invalid_input',
      detail: 'It is only valid with `unpause_exports`.',
    });
  for (const name of isOfRuns(action) ? [] : conditions_of_runs)
    if (filter?.[name] !== undefined)
      violations.push({
        attr: `filter__${name}`,
        code: 'invalid_input',
        detail: 'It is only valid with `retry_runs` and `cancel_runs`.',
      });
  for (const one of instantViolations({ after: filter?.after, before: filter?.before }))
    violations.push({ ...one, attr: `filter__${one.attr}` });
  return violations;
}

/** Returns the wire form of the action. */
export function shownAction(row: BulkActionRow): BulkAction {
  const { status, progress, detail } = row;
  const { total, pending, succeeded, unchanged, refused } = progress;
  const results =
    `${succeeded} done` +
    (unchanged > 0 ? `, ${unchanged} were so already` : '') +
    (refused > 0 ? `, ${refused} refused` : '');
  const sentences = {
    Running: `${results}; ${pending} of ${counted(total, 'item')} to go.`,
    Completed: total === 0 ? 'There was nothing to do.' : `All have their result: ${results}.`,
    Aborted: `Ended early: ${results}; the others are unchanged.`,
  };
  return { ...row, detail: [sentences[status], detail ?? ''].join(' ').trim() };
}
