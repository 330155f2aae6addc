import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { isFields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { nullable } from '../../platform/nullable.ts';
import { incremental_mode, write_columns } from './write_mode.ts';

// Fields that clients of the field's living interface send and read. Their meaning is fixed here:
// each is answered, and accepted with the value of its answer.

const about = {
  hogql_query: 'The same as `custom_query`, under the name that other clients use.',
};

/** The fields as every answer has them. */
export const alias_answers = {
  hogql_query: nullable(Type.String({ description: about.hogql_query })),
  incremental_mode,
};

/** The fields as a body may have them. */
export const alias_inputs = {
  hogql_query: Type.Optional(
    nullable(Type.String({ maxLength: 65_536, description: about.hogql_query })),
  ),
  incremental_mode: Type.Optional(incremental_mode),
};

/** Names of the fields that repeat other fields. */
export const alias_names = Object.keys(alias_inputs);

/** The fields of an export `e` as they are on the wire. */
export const alias_columns = sql`e.custom_query AS hogql_query, ${write_columns}`;

/** A body with `hogql_query` under its own name, where that is not there. */
export function withOwnNames(raw: unknown): unknown {
  if (!isFields(raw) || raw['hogql_query'] === undefined || raw['custom_query'] !== undefined)
    return raw;
  return { ...raw, custom_query: raw['hogql_query'] };
}

/**
 * The violations of a query that is sent under both names with different texts, and of filters,
 * without which the export would deliver more rows than its sender wants. A query that stands
 * (`before`) is what was read and is sent back.
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
