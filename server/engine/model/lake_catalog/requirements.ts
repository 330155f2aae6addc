import { intOf, isSame, longAt, objectAt, textOf } from './fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import type { TableMetadata } from './metadata.ts';
import { badRequest, commitFailed } from './refusal.ts';

type Check = (requirement: Fields, table: TableMetadata) => void;

type Counted =
  | 'last-column-id'
  | 'current-schema-id'
  | 'last-partition-id'
  | 'default-spec-id'
  | 'default-sort-order-id';

/** The beginning matches other catalogs, because clients show it. */
const failed = (why: string) => commitFailed(`Requirement failed: ${why}`);

/** Returns a check that a number of the table equals the one that the writer saw. */
const sameNumber =
  (asked: string, own: Counted, name: string): Check =>
  (requirement, table) => {
    const wanted = intOf(requirement, asked);
    if (wanted !== table[own])
      throw failed(
        `${name} changed: the commit expects ${wanted}, and the table has ${table[own]}`,
      );
  };

/** Every requirement of the specification that a table can meet, by type. */
const checks: Record<string, Check> = {
  'assert-create': (_requirement, table) => {
    throw failed(`table already exists, with the uuid ${table['table-uuid']}`);
  },
  'assert-table-uuid': (requirement, table) => {
    const wanted = textOf(requirement, 'uuid');
    if (wanted.toLowerCase() !== table['table-uuid'].toLowerCase())
      throw failed(
        `UUID does not match: the commit expects ${wanted}, and the table has ` +
          `${table['table-uuid']}: it was dropped and created again`,
      );
  },
  'assert-ref-snapshot-id': (requirement, table) => {
    const name = textOf(requirement, 'ref');
    const given = requirement['snapshot-id'] ?? null;
    const wanted = given === null ? null : longAt(given, 'snapshot-id');
    const ref = Object.hasOwn(table.refs, name) ? table.refs[name] : undefined;
    const own = ref?.['snapshot-id'] ?? null;
    if (!isSame(wanted, own))
      throw failed(
        `branch ${name} has changed: the commit expects the snapshot ${String(wanted)}, and the ` +
          `table has ${String(own)}: another commit came first`,
      );
  },
  'assert-last-assigned-field-id': sameNumber(
    'last-assigned-field-id',
    'last-column-id',
    'last assigned field id',
  ),
  'assert-current-schema-id': sameNumber(
    'current-schema-id',
    'current-schema-id',
    'current schema',
  ),
  'assert-last-assigned-partition-id': sameNumber(
    'last-assigned-partition-id',
    'last-partition-id',
    'last assigned partition id',
  ),
  'assert-default-spec-id': sameNumber(
    'default-spec-id',
    'default-spec-id',
    'default partition spec',
  ),
  'assert-default-sort-order-id': sameNumber(
    'default-sort-order-id',
    'default-sort-order-id',
    'default sort order',
  ),
};

/** Returns true if the commit creates the table. */
export function asksToCreate(requirements: readonly unknown[]): boolean {
  return requirements.some((one) => objectAt(one, 'A requirement')['type'] === 'assert-create');
}

/** Throws 400 unless the commit only asks for a new table. */
export function requireCreate(requirements: readonly unknown[]): void {
  if (!asksToCreate(requirements) || requirements.length > 1)
    throw badRequest('A commit that creates a table has the requirement assert-create alone.');
}

/**
 * Throws 400 for an unknown requirement before it compares any, then 409 for the first unmet one.
 */
export function checkRequirements(requirements: readonly unknown[], table: TableMetadata): void {
  const known = requirements.map((one): [Check, Fields] => {
    const requirement = objectAt(one, 'A requirement');
    const type = textOf(requirement, 'type');
    if (!Object.hasOwn(checks, type)) throw badRequest(`There is no requirement ${type}.`);
    return [checks[type]!, requirement];
  });
  for (const [check, requirement] of known) check(requirement, table);
}
