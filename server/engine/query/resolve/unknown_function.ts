import { Fault } from '../fault.ts';
import { functionNames } from '../functions/find.ts';
import { suggest } from './suggest.ts';
import type { ExpressionOf } from '../parse/tree.ts';

// What people look for under another name, or what is left out on purpose.
const instead: Record<string, string> = {
  any: 'Which value `any` takes is not fixed: write min, max or argMax.',
  anyLast: 'Which value `anyLast` takes is not fixed: write argMax(x, timestamp).',
  topK: 'What `topK` finds is not fixed: count in a subquery and take ORDER BY ... LIMIT.',
  rand: 'Random values would differ at each attempt: take cityHash64(uuid) instead.',
  generateUUIDv4: 'Random values would differ at each attempt: take uuid instead.',
  now64: 'Write now(): the end of the data interval of the run.',
  current_timestamp: 'Write now(): the end of the data interval of the run.',
  repeat: '`repeat` is not part of the language: use leftPad or rightPad.',
  windowFunnel:
    'Write the steps of a funnel with minIf: the first time of each step for each person, and ' +
    'compare them.',
  toTimeZone:
    'Timestamps have no zone of their own: write formatDateTime with a zone, or name the zone ' +
    'in toStartOfDay, toHour and the like.',

  visitParamExtractString: 'Write JSONExtractString.',
  JSONExtract: 'Write JSONExtractString, JSONExtractInt or another one with the type in its name.',
  date: 'Write toDate.',
  toFloat: 'Write toFloat64.',
  toInt: 'Write toInt64.',
};

/** The fault for a function that is not on the list. */
export function unknownFunction(node: ExpressionOf<'call'>): Fault {
  const name = node.name.text;
  const advice = Object.hasOwn(instead, name) ? instead[name] : undefined;
  return new Fault(
    advice ?? `There is no function \`${name}\` in the language.`,
    node.name,
    advice === undefined ? suggest(name, functionNames()) : undefined,
  );
}
