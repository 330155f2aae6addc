import { identifier, literal } from '../../../platform/clickhouse/quote.ts';
import type { Column } from '../models/column.ts';
import { ownColumn } from '../models/column.ts';
import type { ModelName, QueryText } from '../models/model.ts';
import { exactDocument, exactValue } from '../models/readable_json.ts';
import { doubled, fittingValue } from './fitting_value.ts';
import type { PropertyType } from './property_type.ts';

/** A column of a schema as a run reads it. */
export type TypedColumn = { property: string; type: PropertyType; column: string };

/** The column of what no other column has: JSON text of an object. */
export const rest_column = 'properties_rest';

/** Settings with which such a relation is asked: many columns make a long text. */
export const typed_settings = { max_query_size: 16_000_000, max_ast_elements: 1_000_000 };

/** The models whose `properties` can be columns. */
export function isTypable(model: ModelName): boolean {
  return model === 'events' || model === 'persons';
}

/**
 * Returns the columns of an export with typed columns: those of its model, with the rest column in
 * the place of `properties`, and behind them those of the schema.
 */
export function withTypedColumns(columns: Column[], typed: readonly TypedColumn[]): Column[] {
  return [
    ...columns.map((column) =>
      column.name === 'properties' ? ownColumn(rest_column, 'json') : column,
    ),
    ...typed.map(({ column, type }) => ({
      name: column,
      type,
      nullable: true,
      expression: identifier(column),
    })),
  ];
}

/** Returns the column as a delivery had it that did not fill it. */
export function emptyColumn(column: Column): Column {
  return { ...column, expression: `CAST(NULL, 'Nullable(${store_types[column.type]})')` };
}

const store_types: Record<Column['type'], string> = {
  uuid: 'UUID',
  text: 'String',
  json: 'String',
  timestamp: "DateTime64(6, \\'UTC\\')",
  integer: 'Int64',
  float: 'Float64',
  boolean: 'Bool',
};

/**
 * Returns rows of a model with the columns of a schema: each has the value of its property where
 * that fits the type, else NULL, and `properties_rest` has all other properties as they were sent.
 * Guarantee: columns and rest together are `properties`, value for value; only how a number or an
 * instant was written is lost in a column.
 */
export function typedRelation(relation: QueryText, typed: readonly TypedColumn[]): QueryText {
  const properties = [...new Set(typed.map(({ property }) => property))];
  const raw = new Map(properties.map((property, index) => [property, `sluice_raw_${index}`]));
  const raws = properties.map(
    (property) =>
      `sluice_values[indexOf(sluice_names, ${literal(property)})] AS ${raw.get(property)!}`,
  );
  const values = typed.map(
    ({ property, type, column }) =>
      `${fittingValue(type, raw.get(property)!)} AS ${identifier(column)}`,
  );
  const level = (text: string, list: string[]) => `(SELECT *, ${list.join(', ')} FROM ${text})`;
  const cut = level(relation.text, [`${document} AS sluice_document`]);
  const pairs = level(cut, [`${pairsOf('sluice_document')} AS sluice_pairs`]);
  const lookups = level(pairs, [
    'arrayMap(pair -> pair.1, sluice_pairs) AS sluice_names',
    `${valuesOf('sluice_pairs')} AS sluice_values`,
  ]);
  const known = raws.length === 0 ? lookups : level(lookups, raws);
  const fitted = values.length === 0 ? known : level(known, values);
  const rest = level(fitted, [`${restOf(typed)} AS ${rest_column}`]);
  return { text: rest, parameters: relation.parameters };
}

/**
 * Returns ClickHouse text of a list of the properties of a row of `typedRelation` that have a
 * column, a value that is not null, and no column that takes it; an empty name stands for a row
 * whose JSON stays whole.
 */
export function unfitProperties(typed: readonly TypedColumn[]): string {
  const properties = [...new Set(typed.map(({ property }) => property))];
  const names = properties.map(literal).join(', ');
  const are = properties.map(
    (property, index) =>
      `sluice_raw_${index} NOT IN ('', 'null') AND NOT (${isTaken(typed, property)})`,
  );
  return `if(sluice_document = '', [''], arrayFilter((name, is) -> is, [${names}],
    [${are.join(', ')}]))`;
}

function isTaken(typed: readonly TypedColumn[], property: string): string {
  const own = typed.filter((one) => one.property === property);
  return own.map(({ column }) => `isNotNull(${identifier(column)})`).join(' OR ');
}

/**
 * The JSON from which values are taken: `properties` where the store prints its numbers as they
 * were, the same with numbers as marked strings in front of which is a space, or nothing where
 * values could be changed by that. Then all of them stay in the rest.
 */
const document = `multiIf(
  position(properties, '\\\\u0001') > 0 OR NOT startsWith(trimLeft(properties), '{'), '',
  NOT match(properties, '[:,\\\\[]\\\\s*-?[0-9.]+(?:[eE]|[0-9.]{15})') AND isValidJSON(properties),
    trimLeft(properties),
  isValidJSON(${exactDocument('properties')}), concat(' ', ${exactDocument('properties')}), '')`;

/** Names and JSON texts of values; none without a document. */
function pairsOf(text: string): string {
  const exact = `arrayMap(pair -> (pair.1, ${exactValue('pair.2')}), JSONExtractKeysAndValuesRaw(
    ${text}))`;
  return `if(startsWith(${text}, ' '), ${exact}, JSONExtractKeysAndValuesRaw(${text}))`;
}

function valuesOf(pairs: string): string {
  return `if(length(sluice_names) = length(arrayDistinct(sluice_names)),
    arrayMap(pair -> pair.2, ${pairs}),
    arrayMap(pair -> if(countEqual(sluice_names, pair.1) > 1, ${doubled}, pair.2), ${pairs}))`;
}

function restOf(typed: readonly TypedColumn[]): string {
  const properties = [...new Set(typed.map(({ property }) => property))];
  if (properties.length === 0) return 'properties';
  const names = properties.map(literal).join(', ');
  const are = properties.map((property) => isTaken(typed, property)).join(', ');
  const taken = `arrayFilter((name, is) -> is, [${names}], [${are}])`;
  const left = `arrayFilter(pair -> NOT has(${taken}, pair.1), sluice_pairs)`;
  const texts = `arrayMap(pair -> concat(toJSONString(pair.1), ':', pair.2), ${left})`;
  return `if(sluice_document = '', properties,
    concat('{', arrayStringConcat(${texts}, ','), '}'))`;
}
