import type { MergeKeys } from '../../model/destination/write_mode.ts';
import type { Column } from '../../model/models/column.ts';
import { identifier, literal } from '../formats/expression.ts';
import { mergeOf } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { inDatabase } from './config.ts';
import type { Connection } from './connection.ts';
import { stage_column, version_column } from './table.ts';
import type { Table } from './table.ts';
import { keyClauses } from './table_keys.ts';

/**
 * Creates an empty table that matches the target part by part, whose rows contain their stage and
 * their order among the rows of their key.
 */
export async function createStage(
  connection: Connection,
  target: Table,
  layout: Layout,
  stage: { table: string; id: string },
): Promise<void> {
  const name = inDatabase(connection.config, stage.table);
  const policy =
    target.storage_policy === 'default'
      ? ''
      : ` SETTINGS storage_policy = ${literal(target.storage_policy)}`;
  const merge = mergeOf(layout);
  const own: OwnColumn[] = [
    { column: `${identifier(stage_column)} UUID`, value: `DEFAULT toUUID(${literal(stage.id)})` },
  ];
  if (merge !== undefined && target.engine_full.includes(version_column))
    own.push({
      column: `${identifier(version_column)} UInt256`,
      value: `MATERIALIZED ${versionExpression(layout, merge)}`,
    });
  const columns = withValues(target, own);
  await connection.command(
    `CREATE TABLE ${name} ${columns ?? `AS ${connection.target.quoted}`} ENGINE = MergeTree
      ${keyClauses(target.engine_full)}${policy}`,
  );
  if (columns !== undefined) return;
  const changes = own.map(({ column, value }) => `MODIFY COLUMN ${column} ${value}`);
  await connection.command(`ALTER TABLE ${name} ${changes.join(', ')}`);
}

/** A column of ours with its type, and the source of its value. */
type OwnColumn = { column: string; value: string };

/**
 * Returns the columns of a table as the server describes them, with other values in ours; undefined
 * if the description differs from that of a table created by an export.
 */
function withValues({ definition, engine_full }: Table, own: OwnColumn[]): string | undefined {
  const from = definition.indexOf(' (`');
  const to = definition.indexOf(`) ENGINE = ${engine_full}`);
  if (from === -1 || to === -1) return undefined;
  let columns = definition.slice(from + 1, to + 1);
  for (const { column, value } of own) {
    const value_there = String.raw` (?:MATERIALIZED|DEFAULT) (?:0|toUUID\('[-0-9a-f]{36}'\))`;
    const there = new RegExp(`${column}(?:${value_there})?(?=[,)]| CODEC)`, 'g');
    if ([...columns.matchAll(there)].length !== 1) return undefined;
    columns = columns.replace(there, () => `${column} ${value}`);
  }
  return columns;
}

const bits = 256;
/** A version of 64 bits, and one bit for not NULL. */
const version_bits = 65;
const hash_bits = 64;

/**
 * Returns the value of `version_column`: each version as a number that grows with it, the first one
 * on top. Below them is as much of a hash of the other values as fits. Sums wrap at 256 bits, so
 * one constant makes all versions positive.
 */
function versionExpression(layout: Layout, { key, versions }: MergeKeys): string {
  const columns = new Map(layout.columns.map((column) => [column.name, column]));
  let least = 0n;
  const parts = versions.map((name, index) => {
    const column = identifier(name);
    const value = `assumeNotNull(${column})`;
    const isInstant = columns.get(name)?.type === 'timestamp';
    const number = isInstant ? `toUnixTimestamp64Micro(${value})` : `toInt64(${value})`;
    const unit = 1n << BigInt(bits - version_bits * (index + 1));
    const placed = `toUInt256(${number}) * toUInt256('${unit}')`;
    const positive = (2n ** 63n + 1n) * unit;
    if (columns.get(name)?.nullable !== false)
      return `if(isNull(${column}), toUInt256(0), ${placed} + toUInt256('${positive}'))`;
    least += positive;
    return placed;
  });
  const others = layout.columns.filter(
    ({ name }) => !key.includes(name) && !versions.includes(name),
  );
  const room = bits - version_bits * versions.length;
  const hash = `cityHash64(${others.flatMap(hashedValues).join(', ')})`;
  const tie = `bitShiftRight(${hash}, ${Math.max(0, hash_bits - room)})`;
  const sum = [...parts, `toUInt256('${least}')`, ...(others.length === 0 ? [] : [tie])];
  return sum.join(' + ');
}

/**
 * Returns the values of a column for a hash. The table's own column may be Nullable, or have
 * another type.
 */
function hashedValues({ name, type, nullable }: Column): string[] {
  const column = identifier(name);
  if (nullable) return [`ifNull(toString(${column}), '')`, `isNull(${column})`];
  return [type === 'json' ? `toString(${column})` : `assumeNotNull(${column})`];
}
