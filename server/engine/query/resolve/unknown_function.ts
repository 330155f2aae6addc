import { Fault } from '../fault.ts';
import { functionNames } from '../functions/find.ts';
import { suggest } from '../../../platform/suggest.ts';
import type { ExpressionOf } from '../parse/tree.ts';

const decimals = 'The language has no decimals: write round(toFloat64(x), 2), or keep the text.';
const concatenation = "Write arrayStringConcat(groupArray(x), ',').";
const instants = 'Write parseDateTimeBestEffort, or parseDateTimeBestEffortOrNull.';

// Functions that people search under another name, in lower case, or that are left out on purpose.
const instead: Record<string, string> = {
  anylast: 'The result of `anyLast` may differ each time: write argMax(x, timestamp).',
  topk:
    'The result of `topK` may differ each time: count in a subquery and take ORDER BY ... ' +
    'LIMIT.',
  rand: 'Random values would differ at each attempt: use cityHash64(uuid) instead.',
  generateuuidv4: 'Random values would differ at each attempt: use uuid instead.',
  now64: 'Write now(): the end of the data interval of the run.',
  current_timestamp: 'Write now(): the end of the data interval of the run.',
  current_date: 'Write today(): the day of the end of the data interval of the run.',
  repeat: '`repeat` is not part of the language: use leftPad or rightPad.',
  windowfunnel:
    'Write the steps of a funnel with minIf: the first time of each step for each person, and ' +
    'compare them.',
  extract: 'Write toYear(x), toMonth(x) and the like; extract(text, pattern) is for text.',
  incohort: 'The language has no cohorts: compare the properties of the person.',
  transform: 'Write CASE x WHEN a THEN b ... ELSE c END.',
  multisearchany: 'Write match(x, pattern), or x LIKE a OR x LIKE b.',
  multisearchanycaseinsensitive: "Write match(x, '(?i)a|b'), or x ILIKE a OR x ILIKE b.",
  visitparamextractstring: 'Write JSONExtractString.',
  jsonextract: 'Write JSONExtractString, JSONExtractInt or another one with the type in its name.',
  todecimal: decimals,
  todecimal32: decimals,
  todecimal64: decimals,
  todecimal128: decimals,
  parsedatetime: instants,
  tofloatordefault: 'Write ifNull(toFloat(x), 0).',
  tointordefault: 'Write ifNull(toInt(x), 0).',
  date_add: 'Write timestamp + INTERVAL 1 DAY.',
  date_sub: 'Write timestamp - INTERVAL 1 DAY.',
  date_subtract: 'Write timestamp - INTERVAL 1 DAY.',
  equals: 'Write a = b.',
  notequals: 'Write a != b.',
  less: 'Write a < b.',
  lessorequals: 'Write a <= b.',
  greater: 'Write a > b.',
  greaterorequals: 'Write a >= b.',
  notlike: 'Write x NOT LIKE pattern.',
  notilike: 'Write x NOT ILIKE pattern.',
  notin: 'Write x NOT IN (a, b).',
  columns: 'Name the columns, or leave some out: * EXCEPT (a, b).',
  array_agg: 'Write groupArray(x).',
  groupconcat: concatenation,
  group_concat: concatenation,
  string_agg: concatenation,
  json_value: 'Write properties.a.b, or JSONExtractString.',
  regexpextract: 'Write extract(text, pattern): it gives the first group.',
  to_char: 'Write formatDateTime.',
  locate: 'Write position(text, part).',
  split_part: 'Write splitByChar(separator, text)[n].',
  regexp_replace: 'Write replaceRegexpAll.',
};

/** Explains a name by its form. */
function patterned(name: string): string | undefined {
  const [, base] = /^(\w+)OrNullIf$/.exec(name) ?? [];
  return base === undefined ? undefined : `Write ${base}IfOrNull.`;
}

/** Returns the fault for a function that is not on the list. */
export function unknownFunction(node: ExpressionOf<'call'>): Fault {
  const name = node.name.text;
  const key = name.toLowerCase();
  const advice = Object.hasOwn(instead, key) ? instead[key] : patterned(name);
  return new Fault(
    advice ?? `There is no function \`${name}\` in the language.`,
    node.name,
    advice === undefined ? suggest(name, functionNames()) : undefined,
  );
}
