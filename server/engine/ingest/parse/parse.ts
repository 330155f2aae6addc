import type { EventProblem, PlainEvent, ReadEvent } from './event.ts';
import { readMergeAsk, readUnset } from '../identities/merge_ask.ts';
import { readGroupFault } from './group_fault.ts';
import { isJsonObject, isTooDeep, nesting_max, parseExact } from './exact_json.ts';
import type { JsonObject } from './exact_json.ts';
import { arrivalInstant, parseInstant } from './instant.ts';
import { fitsPerson, values_max } from './person_size.ts';
import { createUuid } from './create_uuid.ts';
import type { Judge } from '../rules/intake.ts';
import { findJsonFault } from '../../../platform/json/json_scan.ts';
import { isUuid } from '../../../platform/uuid.ts';

/** Longest event name and longest distinct id, in characters. */
const name_length_max = 400;
/** Largest single event, in bytes of its properties as JSON text. */
const event_bytes_max = 10 * 1024 * 1024;

// Size of a row apart from its texts: the object, the uuid, the instant.
const row_overhead_bytes = 400;

/**
 * Reads one event from JSON text, such as a line of NDJSON; see `readEvent`. Text that is not JSON
 * is a problem too, never an exception.
 */
export function parseEvent(
  text: string,
  nowMilliseconds: number,
  judge?: Judge,
): ReadEvent<PlainEvent> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    const detail =
      error instanceof RangeError
        ? tooDeepDetail
        : `This is not valid JSON from column ${findJsonFault(text)!.column} on.`;
    return { problems: [{ attr: null, code: 'parse_error', detail }] };
  }
  return readEvent(value, nowMilliseconds, judge);
}

/**
 * Checks one parsed event and returns the row to store, or every violation. Ignores unknown fields.
 * An absent `timestamp` is now, an absent `uuid` a new version 7. `$set` and `$set_once` beside
 * `properties` are merged into those inside, and win; `$unset` beside them counts as inside.
 * `judge` applies the project's rules and plan.
 */
export function readEvent(
  value: unknown,
  nowMilliseconds: number,
  judge?: Judge,
): ReadEvent<PlainEvent> {
  if (!isJsonObject(value))
    return {
      problems: [{ attr: null, code: 'invalid_input', detail: 'An event must be a JSON object.' }],
    };
  const problems: EventProblem[] = [];
  const event = readName(value, 'event', problems).trim();
  const distinctId = readName(value, 'distinct_id', problems);
  const timestamp = readTimestamp(value['timestamp'], nowMilliseconds, problems);
  const givenUuid = readUuid(value['uuid'], problems);
  const properties = readProperties(value, problems);
  if (problems.length > 0) return { problems };
  const parts = { event, distinct_id: distinctId, timestamp, uuid: givenUuid, properties };
  return eventOf(parts, judge);
}

/** The checked parts of an event; `timestamp` is in the store's form. */
type EventParts = Pick<PlainEvent, 'event' | 'distinct_id' | 'timestamp'> & {
  uuid: string | undefined;
  properties: JsonObject;
};

/**
 * Creates the row to store from the parts of an event; an absent `uuid` becomes a new version 7.
 * The only possible faults are excessive size and a refusal by the project's tracking plan. The
 * project's rules change the properties before any other code reads them, but persons are merged by
 * the properties as they were sent.
 */
export function eventOf(
  parts: EventParts,
  judge?: Judge,
  user_agent?: string,
): ReadEvent<PlainEvent> {
  const { event, distinct_id, timestamp, uuid } = parts;
  const judged = judge?.(event, parts.properties, user_agent);
  if (judged?.dropped_by !== undefined) return { problems: [], dropped_by: judged.dropped_by };
  if (judged?.problem !== undefined) return { problems: [judged.problem], is_off_plan: true };
  const { properties, changed_by, off_plan } = judged ?? { properties: parts.properties };
  const text = JSON.stringify(properties);
  const textBytes = Buffer.byteLength(text);
  if (textBytes > event_bytes_max)
    return {
      problems: [
        {
          attr: 'properties',
          code: 'max_length',
          detail: 'An event may hold at most 10 MiB of properties.',
        },
      ],
    };
  const [set, set_once] = [nonEmpty(properties['$set']), nonEmpty(properties['$set_once'])];
  const is_set_too_large =
    textBytes > values_max && [set, set_once].some((one) => !fitsPerson(JSON.stringify(one ?? {})));
  const { $elements_chain: chain } = properties;
  const elements_chain = typeof chain === 'string' ? chain : '';
  const row: PlainEvent = {
    uuid: uuid ?? createUuid(),
    is_uuid_given: uuid !== undefined,
    event,
    distinct_id,
    timestamp,
    properties: text,
    elements_chain,
    set: is_set_too_large ? undefined : set,
    set_once: is_set_too_large ? undefined : set_once,
    unset: readUnset(properties['$unset']),
    merge: readMergeAsk(event, parts.properties),
    group_fault: readGroupFault(event, parts.properties),
    is_set_too_large,
    bytes:
      row_overhead_bytes +
      Buffer.byteLength(event) +
      Buffer.byteLength(distinct_id) +
      Buffer.byteLength(elements_chain) +
      textBytes,
  };
  if (changed_by !== undefined && changed_by.length > 0) row.changed_by = changed_by;
  if (off_plan !== undefined) row.off_plan = off_plan;
  return { event: row };
}

const tooDeepDetail = `Arrays and objects may be nested at most ${nesting_max} deep.`;

function readName(
  value: JsonObject,
  attr: 'event' | 'distinct_id',
  problems: EventProblem[],
): string {
  const given = value[attr];
  const refuse = (code: EventProblem['code'], detail: string) => {
    problems.push({ attr, code, detail });
    return '';
  };
  if (given === undefined) return refuse('required', 'This field is required.');
  if (given === null) return refuse('null', 'This field may not be null.');
  if (typeof given !== 'string') return refuse('invalid_input', 'This field must be a string.');
  if (given.trim() === '') return refuse('blank', 'This field may not be blank.');
  if ((attr === 'event' ? given.trim() : given).length > name_length_max)
    return refuse('max_length', `This field may have at most ${name_length_max} characters.`);
  if (given.includes('\0')) return refuse('invalid_input', 'Null characters are not allowed.');
  return given;
}

function readTimestamp(given: unknown, nowMilliseconds: number, problems: EventProblem[]): string {
  if (given === undefined) return arrivalInstant(nowMilliseconds);
  const instant = typeof given === 'string' ? parseInstant(given) : undefined;
  if (instant !== undefined) return instant;
  if (given === null)
    problems.push({
      attr: 'timestamp',
      code: 'null',
      detail: 'This field may not be null; leave it out to use the current time.',
    });
  else
    problems.push({
      attr: 'timestamp',
      code: 'invalid_input',
      detail:
        'This must be an ISO 8601 instant with a time zone between the years 1970 and 2200, ' +
        'such as "2024-05-01T12:00:00.123456Z".',
    });
  return '';
}

function readUuid(given: unknown, problems: EventProblem[]): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && isUuid(given)) return given.toLowerCase();
  if (given === null)
    problems.push({
      attr: 'uuid',
      code: 'null',
      detail: 'This field may not be null; leave it out and the server creates one.',
    });
  else
    problems.push({
      attr: 'uuid',
      code: 'invalid_input',
      detail: 'This must be a UUID, such as "0190163d-8694-739b-aea5-966c26f8ad91".',
    });
  return undefined;
}

function readProperties(value: JsonObject, problems: EventProblem[]): JsonObject {
  const given = value['properties'] === undefined ? {} : value['properties'];
  if (!isJsonObject(given))
    problems.push({
      attr: 'properties',
      code: given === null ? 'null' : 'invalid_input',
      detail: 'This must be a JSON object.',
    });
  // Fields beside invalid properties are checked too, so that every fault is reported.
  let properties: JsonObject = isJsonObject(given) ? given : {};
  for (const attr of ['$set', '$set_once'] as const) {
    const inside = properties[attr];
    const beside = value[attr];
    if (inside !== undefined && !isJsonObject(inside))
      problems.push({
        attr: `properties__${attr}`,
        code: 'invalid_input',
        detail: 'This must be a JSON object.',
      });
    if (beside === undefined) continue;
    if (!isJsonObject(beside))
      problems.push({ attr, code: 'invalid_input', detail: 'This must be a JSON object.' });
    else
      properties = {
        ...properties,
        [attr]: isJsonObject(inside) ? { ...inside, ...beside } : beside,
      };
  }
  const { $unset: unset } = value;
  if (unset !== undefined) properties = { ...properties, $unset: properties['$unset'] ?? unset };
  if (isTooDeep(properties))
    problems.push({ attr: 'properties', code: 'invalid_input', detail: tooDeepDetail });
  return properties;
}

function nonEmpty(value: unknown): JsonObject | undefined {
  return isJsonObject(value) && Object.keys(value).length > 0 ? value : undefined;
}
