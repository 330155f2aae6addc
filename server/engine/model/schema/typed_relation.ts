import { identifier, literal } from '../../../platform/clickhouse/quote.ts';
import type { Column } from '../models/column.ts';
import { ownColumn } from '../models/column.ts';
import type { ModelName, QueryText } from '../models/model.ts';
import { exactDocument, exactValue } from '../models/readable_json.ts';
import { doubled, fittingValue } from './fitting_value.ts';
import type { PropertyType } from './property_type.ts';

/** A column of a schema as a run reads it. */
export type TypedColumn = { property: string; type: PropertyType; column: string };

/** The column of properties without a column: JSON text of an object. */
export const rest_column = 'properties_rest';

/**
 * Query settings for such a relation. Many columns make a long text. The store must not merge the
 * levels: it would compute shared expressions once per condition.
 */
export const typed_settings = {
  max_query_size: 16_000_000,
  max_ast_elements: 1_000_000,
  query_plan_merge_expressions: 0,
};

/** The models whose `properties` can be columns. */
export const typable_models = ['events', 'persons', 'groups'] as const satisfies ModelName[];

/** One of them. */
export type TypableModel = (typeof typable_models)[number];

/** Says whether the `properties` of a model can be columns. */
export function isTypable(model: ModelName): model is TypableModel {
  return (typable_models as readonly ModelName[]).includes(model);
}

/**
 * Returns the columns of an export with typed columns: the model's, with the rest column in place
 * of `properties`, followed by the schema's.
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

/** Returns the column for a delivery that did not fill it. */
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
  date: 'Date32',
  decimal: 'Decimal(38, 9)',
};

/**
 * Returns rows of a model with the columns of a schema. Each column has the value of its property
 * if it fits the type, else NULL. `properties_rest` has all other properties as they were sent.
 * Guarantee: columns and rest together hold every value of `properties`. A column only loses the
 * notation of a number or an instant.
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
  // Nested levels, so that ClickHouse computes each part once, however often the next level uses
  // it.
  const levels = [
    [`${document} AS sluice_document`],
    ['JSONExtractKeysAndValuesRaw(sluice_document) AS sluice_pairs'],
    ['sluice_pairs.1 AS sluice_names', `${texts} AS sluice_texts`],
    ['length(arrayDistinct(sluice_names)) < length(sluice_names) AS sluice_has_doubled'],
    [`${lookups} AS sluice_values`],
    raws,
    values,
    [`${takenOf(typed)} AS sluice_taken`],
    [`${rest} AS ${rest_column}`],
  ];
  const text = levels
    .filter((list) => list.length > 0)
    .reduce((from, list) => `(SELECT *, ${list.join(', ')} FROM ${from})`, relation.text);
  return { text, parameters: relation.parameters };
}

/**
 * Returns ClickHouse text for a list of properties that have a column and a non-null value that
 * fits no column. An empty name stands for a row whose JSON stays whole.
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
 * The JSON that values are extracted from. It is `properties` if the store prints its numbers
 * unchanged. Otherwise it has marked strings for numbers, after a leading space, or is empty if
 * extraction could change values. All values stay in the rest then.
 */
const document = `multiIf(
  position(properties, '\\\\u0001') > 0 OR NOT startsWith(trimLeft(properties), '{'), '',
  NOT match(properties, '[:,\\\\[]\\\\s*-?[0-9.]+(?:[eE]|[0-9.]{15})') AND isValidJSON(properties),
    trimLeft(properties),
  isValidJSON(${exactDocument('properties')}), concat(' ', ${exactDocument('properties')}), '')`;

// The array is empty for most rows: a condition alone does not keep the store from computing it for
// all.

const isMarked = `startsWith(sluice_document, ' ')`;
/** The JSON texts of the values, in the order of the names. */
const texts = `if(${isMarked}, arrayMap(text -> ${exactValue('text')},
  if(${isMarked}, sluice_pairs.2, [])), sluice_pairs.2)`;

/** The same texts, for columns to read from. */
const lookups = `if(sluice_has_doubled, arrayMap(
  (name, text) -> if(countEqual(sluice_names, name) > 1, ${doubled}, text),
  if(sluice_has_doubled, sluice_names, []), if(sluice_has_doubled, sluice_texts, [])),
  sluice_texts)`;

/** Returns the properties whose value is in a column. */
function takenOf(typed: readonly TypedColumn[]): string {
  const properties = [...new Set(typed.map(({ property }) => property))];
  if (properties.length === 0) return 'emptyArrayString()';
  const names = properties.map(literal).join(', ');
  const are = properties.map((property) => isTaken(typed, property)).join(', ');
  return `arrayFilter((name, is) -> is, [${names}], [${are}])`;
}

// Outside any condition: inside one, the store would compute each column for each name.
const rest = `concat(if(sluice_document = '', properties, '{'), arrayStringConcat(arrayMap(
  (name, text) -> concat(toJSONString(name), ':', text),
  arrayFilter(name -> NOT has(sluice_taken, name), sluice_names),
  arrayFilter((text, name) -> NOT has(sluice_taken, name), sluice_texts, sluice_names)), ','),
  if(sluice_document = '', '', '}'))`;
