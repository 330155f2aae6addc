// Length: the fields of a mode, their names elsewhere and their rules belong together.
import { isDeepStrictEqual } from 'node:util';
import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import { destinations } from '../../engine/destinations/index.ts';
import { mergeKey, versionColumns } from '../../engine/destinations/sql_tables/layout.ts';
import {
  isReplacing,
  replaced_bytes_max,
  replaced_records_max,
  write_modes,
} from '../../engine/model/destination/write_mode.ts';
import type { WriteMode, WriteRule } from '../../engine/model/destination/write_mode.ts';
import { models } from '../../engine/model/models/index.ts';
import { model_names } from '../../engine/model/models/model.ts';
import type { ModelName } from '../../engine/model/models/model.ts';
import type { Column } from '../../engine/model/models/column.ts';
import { counted } from '../../platform/counted.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { flag } from '../../platform/http/schemas.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';

const alias_modes = ['APPEND', 'MERGE'];
/** ClickHouse has room for so many columns in its single version. */
const versions_max = 3;
const keys_max = 16;

const about = {
  mode:
    'How a run writes rows into a table. `append` adds each row. `merge` keeps one row for ' +
    'each value of `primary_key`: the row with the greatest `version_key` ever delivered. ' +
    '`replace`: each run replaces the table by all rows as of its end, at most ' +
    `${counted(replaced_records_max, 'row')} and ${counted(replaced_bytes_max, 'byte')} ` +
    '(docs/write_modes.md). Null: events are appended, rows of the other models merged.',
  primary_key:
    'The columns that identify a row of the table, with `mode` `merge`. An answer also has ' +
    'the key of the model. Null: rows are appended.',
  version_key:
    'The columns that grow with each change of a row, with `mode` `merge`. The first one that ' +
    'differs decides. Null: rows are appended.',
  allow_empty:
    'With `mode` `replace`: a run without rows empties the table. If false, the run fails with ' +
    '`empty_result` and the table stays, because a wrong query has no rows either.',
  incremental_mode:
    '`mode` under the name that other clients use: `APPEND` or `MERGE`. With `mode` null it says ' +
    'what the model decides; then it is null for a query whose columns decide. It is also null ' +
    'with `mode` `replace`.',
};

const modes = nullable(Type.Enum([...write_modes], { description: about.mode }));
const column = lineOfText(300);
const names = (description: string, maxItems: number) =>
  nullable(Type.Array(column, { minItems: 1, maxItems, description }));
const named = (description: string) => nullable(Type.Array(Type.String(), { description }));

/** The fields of the write mode in answers. */
export const write_answers = {
  mode: modes,
  primary_key: named(about.primary_key),
  version_key: named(about.version_key),
  allow_empty: flag(about.allow_empty),
};

/** The fields in bodies. */
export const write_inputs = {
  mode: Type.Optional(modes),
  primary_key: Type.Optional(names(about.primary_key, keys_max)),
  version_key: Type.Optional(names(about.version_key, versions_max)),
  allow_empty: Type.Optional(Type.Boolean({ description: about.allow_empty, default: false })),
};

/** The name that other clients use for the mode. */
export const incremental_mode = nullable(
  Type.Enum(alias_modes, { description: about.incremental_mode }),
);

const table_types = destinations
  .filter(({ column_set }) => column_set === 'tables')
  .map(({ type }) => type);
/**
 * Destination types whose tables an export may merge into or replace, beyond the model's default.
 */
const changing_types = destinations
  .filter(({ column_set, changes_rows }) => column_set === 'tables' || changes_rows === true)
  .map(({ type }) => type);
const merged_models = model_names.filter((name) => name !== 'events');
const versionOf = (model: ModelName) => versionColumns({ columns: models[model].columns.tables });

const is_merged = sql`(e.custom_query IS NULL AND e.model <> 'events'
  AND e.destination_type IN (${join(table_types)}))`;

/** Returns names that depend on the model of an export `e`, as JSON. */
function perModel(namesOf: (model: ModelName) => readonly string[]): Sql {
  const cases = merged_models.map(
    (name) => sql`WHEN ${name} THEN ${JSON.stringify(namesOf(name))}::json`,
  );
  return sql`CASE e.model ${join(cases, ' ')} END`;
}

/** Selects the fields of an export `e`, in their wire form. */
export const write_columns = sql`e.write_rule ->> 'mode' AS mode,
  CASE WHEN e.write_rule IS NOT NULL THEN nullif(upper(e.write_rule ->> 'mode'), 'REPLACE')
    WHEN ${is_merged} THEN 'MERGE'
    WHEN e.model = 'events' OR e.destination_type NOT IN (${join(table_types)})
      THEN 'APPEND' END AS incremental_mode,
  CASE WHEN e.write_rule IS NOT NULL THEN (e.write_rule -> 'primary_key')::json
    WHEN ${is_merged} THEN ${perModel((model) => mergeKey({ model }))} END AS primary_key,
  CASE WHEN e.write_rule IS NOT NULL THEN (e.write_rule -> 'version_key')::json
    WHEN ${is_merged} THEN ${perModel(versionOf)} END AS version_key,
  coalesce((e.write_rule ->> 'allow_empty')::boolean, false) AS allow_empty`;

/** The parts of an export that determine how it writes rows into a table. */
export type Written = {
  model: ModelName;
  custom_query: string | null;
  destination_type: string;
  /** Undefined if the query is invalid. */
  columns: Column[] | undefined;
};

/** An export's write rule after a change, and its violations. */
export type CheckedRule = { rule: WriteRule | null; violations: Violation[] };

/**
 * Returns the write rule of an export after a body was applied, and its violations. Absent fields
 * keep their values. The stored fields (`before`) may be sent back together with a change.
 */
export function checkWriteRule(
  raw: unknown,
  written: Written,
  before?: { rule: WriteRule | null; destination_type: string } & Pick<
    Written,
    'model' | 'custom_query'
  >,
): CheckedRule {
  const sent: Fields = isFields(raw) ? raw : {};
  const stands = before === undefined ? undefined : answerOf(before.rule, before);
  const own = answerOf(null, written);
  const mode = wantedMode(sent, own, before?.rule?.mode ?? null);
  const rule = ruleOf(sent, mode, before?.rule ?? null);
  const answer = answerOf(rule, written);
  const isKnown = (attr: keyof Answer) =>
    sent[attr] === undefined ||
    (sent[attr] === null && (mode !== 'merge' || attr === 'incremental_mode')) ||
    [...answer[attr], ...(stands?.[attr] ?? [])].some((value) =>
      isDeepStrictEqual(value, sent[attr]),
    );
  const violations = (['incremental_mode', 'primary_key', 'version_key'] as const)
    .filter((attr) => !isKnown(attr))
    .map((attr): Violation => ({
      attr,
      code: 'invalid_input',
      detail: elseDetail(attr, answer, mode),
    }));
  return {
    rule,
    violations: [
      ...violations,
      ...placeViolations(sent, rule, written),
      ...emptyViolations(sent, rule),
      ...(rule?.mode === 'merge' ? columnViolations(rule, written) : []),
    ],
  };
}

/** The values of the fields in an answer. */
type Answer = Record<'incremental_mode' | 'primary_key' | 'version_key', readonly unknown[]>;

function answerOf(
  rule: WriteRule | null,
  { model, destination_type, custom_query }: Omit<Written, 'columns'>,
): Answer {
  if (rule !== null)
    return {
      incremental_mode: [isReplacing(rule) ? null : rule.mode.toUpperCase()],
      primary_key: [rule.primary_key],
      version_key: [rule.version_key],
    };
  const nothing = { primary_key: [null], version_key: [null] };
  const name = merged_models.find((one) => one === model);
  if (name === undefined || !table_types.some((type) => type === destination_type))
    return { incremental_mode: ['APPEND'], ...nothing };
  return custom_query !== null
    ? { incremental_mode: [...alias_modes, null], ...nothing }
    : {
        incremental_mode: ['MERGE'],
        primary_key: [mergeKey({ model: name })],
        version_key: [versionOf(name)],
      };
}

/** Returns the mode that a body asks for under either name; null if the model decides. */
function wantedMode(sent: Fields, own: Answer, current: WriteMode | null): WriteMode | null {
  const { mode, incremental_mode: alias } = sent;
  if (mode === null) return null;
  const named = write_modes.find((one) => one === mode);
  if (named !== undefined) return named;
  const meant = write_modes.find((one) => typeof alias === 'string' && one.toUpperCase() === alias);
  if (meant === undefined) return current;
  const isOwn = (attr: 'primary_key' | 'version_key') =>
    sent[attr] === undefined ||
    sent[attr] === null ||
    own[attr].some((value) => isDeepStrictEqual(value, sent[attr]));
  const isModels =
    current === null &&
    own.incremental_mode.includes(alias) &&
    isOwn('primary_key') &&
    isOwn('version_key');
  return isModels ? null : meant;
}

function ruleOf(sent: Fields, mode: WriteMode | null, current: WriteRule | null): WriteRule | null {
  if (mode === null) return null;
  const unkeyed = { primary_key: null, version_key: null };
  if (mode === 'append') return { mode, ...unkeyed };
  if (mode === 'replace') {
    const allow_empty = sent['allow_empty'] ?? current?.allow_empty;
    return { mode, ...unkeyed, allow_empty: allow_empty === true };
  }
  const listOf = (attr: 'primary_key' | 'version_key'): string[] | null => {
    const value = sent[attr] === undefined ? current?.[attr] : sent[attr];
    const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
    return isList && value.length > 0 ? value : null;
  };
  return { mode, primary_key: listOf('primary_key'), version_key: listOf('version_key') };
}

function elseDetail(attr: keyof Answer, answer: Answer, mode: WriteMode | null): string {
  const [value = null] = answer[attr];
  if (mode === 'replace')
    return `With \`mode\` "replace" no row is merged: send null, or leave the field out.`;
  if (attr === 'incremental_mode')
    return `It is another name of \`mode\`: send ${JSON.stringify(value)}, or leave the field out.`;
  return value === null
    ? 'Rows are appended: send null, or leave the field out. To merge them, send `mode` ' +
        '"merge" too.'
    : `Rows are merged by the key of the model: send ${JSON.stringify(value)}, or leave the ` +
        'field out. For another key send `mode` "merge" too.';
}

/** The field only has a meaning for a table that is replaced. */
function emptyViolations(sent: Fields, rule: WriteRule | null): Violation[] {
  if (sent['allow_empty'] !== true || isReplacing(rule)) return [];
  const detail =
    'Only with `mode` "replace" a run can empty the table: send false, or leave it out.';
  return [{ attr: 'allow_empty', code: 'invalid_input', detail }];
}

/** Files and requests have no rows that a run could replace. */
function placeViolations(sent: Fields, rule: WriteRule | null, written: Written): Violation[] {
  const { destination_type: type } = written;
  const mode = rule?.mode ?? 'append';
  if (mode === 'append' || changing_types.some((one) => one === type)) return [];
  return [
    {
      attr: sent['mode'] === undefined && sent['incremental_mode'] ? 'incremental_mode' : 'mode',
      code: 'invalid_choice',
      detail:
        `The destination ${type} does not support "${mode}", because Sluice cannot change ` +
        `its rows. Send "append", or choose one of ${changing_types.join(', ')}.`,
    },
  ];
}

const key_types: readonly Column['type'][] = ['uuid', 'text', 'integer', 'boolean', 'timestamp'];
const version_types: readonly Column['type'][] = ['integer', 'timestamp'];

function columnViolations(rule: WriteRule, { columns }: Written): Violation[] {
  const { primary_key, version_key } = rule;
  const violations = [
    ...(primary_key === null
      ? [required('primary_key', 'Name the columns that identify a row, such as ["uuid"].')]
      : []),
    ...(version_key === null
      ? [
          required(
            'version_key',
            'Name the columns that grow with each change of a row, such as ["inserted_at"]: ' +
              'without one, a late delivery could replace a newer row.',
          ),
        ]
      : []),
  ];
  for (const [attr, list, types] of [
    ['primary_key', primary_key, key_types],
    ['version_key', version_key, version_types],
  ] as const)
    for (const [index, name] of (list ?? []).entries()) {
      const wrong = faultOf(name, columns, types);
      if (wrong !== undefined) violations.push({ attr, code: 'invalid_input', detail: wrong });
      else if (list!.indexOf(name) !== index)
        violations.push({ attr, code: 'invalid_input', detail: `It has \`${name}\` twice.` });
      else if (attr === 'version_key' && primary_key?.includes(name) === true)
        violations.push({
          attr,
          code: 'invalid_input',
          detail: `\`${name}\` is in \`primary_key\` too, so it never changes. Remove it here.`,
        });
    }
  return violations;
}

function required(attr: string, advice: string): Violation {
  return { attr, code: 'required', detail: `With \`mode\` "merge" it is required. ${advice}` };
}

function faultOf(
  name: string,
  columns: Column[] | undefined,
  types: readonly Column['type'][],
): string | undefined {
  if (columns === undefined) return undefined;
  const found = columns.find((one) => one.name === name);
  if (found === undefined)
    return (
      `The export has no column \`${name}\`. Its columns are ` +
      `${columns.map((one) => `\`${one.name}\``).join(', ')}.`
    );
  return types.includes(found.type)
    ? undefined
    : `The column \`${name}\` has the type ${found.type}; it must be ${types.join(', ')}.`;
}
