import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { isFields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { text } from '../../platform/http/schemas.ts';
import { nullable } from '../../platform/nullable.ts';
import { incremental_mode, write_columns } from './write_mode.ts';

// Fields that clients of a similar API send and read. Sluice answers each field, and accepts it
// only with the value of its answer.

const about = {
  hogql_query: 'The same as `custom_query`, under the name that other clients use.',
};

/** The fields in answers. */
export const alias_answers = {
  hogql_query: nullable(text(about.hogql_query)),
  incremental_mode,
};

/** The fields in bodies. */
export const alias_inputs = {
  hogql_query: Type.Optional(
    nullable(Type.String({ maxLength: 65_536, description: about.hogql_query })),
  ),
  incremental_mode: Type.Optional(incremental_mode),
};

/** Names of the fields that repeat other fields. */
export const alias_names = Object.keys(alias_inputs);

/** Selects the fields of an export `e`, in their wire form. */
export const alias_columns = sql`e.custom_query AS hogql_query, ${write_columns}`;

/** Returns the body with `hogql_query` renamed to `custom_query`, unless it has both. */
export function withOwnNames(raw: unknown): unknown {
  if (!isFields(raw) || raw['hogql_query'] === undefined || raw['custom_query'] !== undefined)
    return raw;
  return { ...raw, custom_query: raw['hogql_query'] };
}

/**
 * Returns a violation if both names of the query have different texts. Also refuses filters,
 * because Sluice would deliver more rows than the filters allow. The stored query (`before`) may be
 * sent back unchanged.
 */
export function aliasViolations(
  raw: unknown,
  custom_query: string | null,
  before = custom_query,
): Violation[] {
  const { hogql_query: sent, filters }: Record<string, unknown> = isFields(raw) ? raw : {};
  const refused = (attr: string, detail: string): Violation => ({
    attr,
    code: 'invalid_input',
    detail,
  });
  const violations: Violation[] = [];
  if (sent !== undefined && sent !== custom_query && sent !== before)
    violations.push(
      refused(
        'hogql_query',
        'It is another name of `custom_query`: send the query once, or leave the field out.',
      ),
    );
  if (Array.isArray(filters) && filters.length > 0)
    violations.push(
      refused(
        'filters',
        'An export has no filters of this form. Name events with `include_events`, or select ' +
          'rows with `custom_query`.',
      ),
    );
  return violations;
}
