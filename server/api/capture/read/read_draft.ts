import type { IncomingEvent, PlainEvent, ReadEvent } from '../../../engine/ingest/parse/event.ts';
import { isJsonObject, isTooDeep } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { parseInstant, arrivalInstant } from '../../../engine/ingest/parse/instant.ts';
import { createUuid, namespaceOf, nameUuid } from '../../../engine/ingest/parse/create_uuid.ts';
import { eventOf } from '../../../engine/ingest/parse/parse.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { isUuid } from '../../../platform/uuid.ts';
import type { Judge } from '../../../engine/ingest/rules/intake.ts';
import type { WarningReason } from '../../../engine/ingest/warnings/warning.ts';
import type { Draft } from '../protocol.ts';
import { exactInstant, future_ms_max, readNumber, readTime } from './times.ts';
import { personAgentOf } from './traffic.ts';
import type { Judged, TrafficJudge } from './traffic.ts';

/** Longest event name and distinct id that are kept whole, in characters. */
const name_length_max = 200;
/** Largest event in bytes of its row, unless its protocol defines another limit. */
const event_size_bytes_max = 2 * 1024 * 1024;
// Never changes: the same message id gives the same uuid on every server.
const message_namespace = namespaceOf('5f0a3c1e-7d0b-5d0c-9a52-0f9d3d8b7c21');

/** An event that was read, with its warnings and the uuid as the sender wrote it. */
export type Read<Event extends IncomingEvent = IncomingEvent> = {
  read: ReadEvent<Event>;
  warnings: WarningReason[];
  uuid: string | undefined;
  /** For examples of warnings: the event's name and person, and each value as sent. */
  told?: Told;
  /** For a refused event: the body of a request with it alone. */
  content?: string | undefined;
  /** A setting of the project drops it, so its sender made no mistake. */
  is_dropped?: boolean;
};
type Told = {
  event?: string | undefined;
  distinct_id?: string | undefined;
  sent: { [reason in WarningReason]?: string };
};

/**
 * The parts that all events of a request share: its arrival, and the error of the sender's clock.
 */
export type Clocks = { received_ms: number; skew_ms: number };

/** The functions that judge events and give them names and ids. */
export type Before = {
  judge?: TrafficJudge | undefined;
  named?: ((draft: Draft) => Draft) | undefined;
  /** Returns a uuid for an event without one. */
  derived?: ((draft: Draft) => string | undefined) | undefined;
  /** Returns the body of a request with the refused event alone. */
  alone?: ((draft: Draft) => string | undefined) | undefined;
  /** Applies the project's settings to its events. */
  intake?: Judge | undefined;
  /** The user agent of the sender of the request. */
  user_agent?: string | undefined;
};

/**
 * Reads a draft and returns the event to store. Stores every value that it can; cuts or replaces
 * others and records a warning. Refuses the event with a warning if that is impossible. Never
 * throws for the content of the draft.
 */
export function readDraft(
  as_sent: Draft,
  clocks: Clocks,
  { judge, named, derived, alone, intake, user_agent }: Before = {},
): Read<PlainEvent> {
  const judged = judge?.(as_sent.properties);
  const draft = named?.(as_sent) ?? as_sent;
  const warnings: WarningReason[] = [];
  const sent: Told['sent'] = {};
  const warn = (reason: WarningReason, value?: unknown) => {
    if (!warnings.includes(reason)) warnings.push(reason);
    if (value !== undefined) sent[reason] ??= asSent(value);
  };
  for (const mended of draft.mended ?? []) warn(mended.reason, mended.sent);
  const uuid = uuidOf(draft, warn) ?? derived?.(as_sent);
  const name = shortText(draft.name, 'event_name_cut', warn)?.trim();
  const sent_uuid = typeof draft.uuid === 'string' ? draft.uuid : undefined;
  const refuse = (reason: WarningReason, detail?: string): Read<PlainEvent> => ({
    ...refusalOf(draft, reason, sent, detail),
    warnings: [...warnings, reason],
    uuid: sent_uuid,
    content: judged?.fate === 'drop' ? undefined : alone?.(as_sent),
  });
  if (judged?.fate === 'drop') {
    const reason = `${judged.kind}_dropped` as const;
    sent[reason] = judged.by;
    return { ...refuse(reason), is_dropped: true };
  }
  if (draft.refused_as !== undefined) return refuse(draft.refused_as);
  if (name === undefined || name === '') return refuse('event_name_missing');
  let id = uuid;
  let distinct_id = shortText(draft.distinct_id, 'distinct_id_cut', warn);
  if (distinct_id === undefined || distinct_id.trim() === '') {
    if (draft.distinct_id_otherwise !== 'uuid') return refuse('distinct_id_missing');
    id ??= createUuid();
    distinct_id = id;
    warn('distinct_id_made');
  }
  if (Array.isArray(draft.distinct_id) || isJsonObject(draft.distinct_id))
    warn('distinct_id_not_text', distinct_id);
  const timestamp = timestampOf(draft, clocks, warn);
  const properties = marked(propertiesOf(draft, warn), judged);
  if (isTooDeep(properties)) return refuse('event_refused');
  const parts = { event: name, distinct_id, timestamp, uuid: id, properties };
  const read = eventOf(parts, intake, personAgentOf(properties, user_agent));
  if (read.dropped_by !== undefined) return { read, warnings: [], uuid: sent_uuid };
  if (read.is_off_plan === true) return refuse('off_plan_refused', read.problems[0]!.detail);
  const { size_bytes_max = event_size_bytes_max } = draft;
  if (read.event === undefined || read.event.bytes > size_bytes_max)
    return refuse('event_too_large');
  if (read.event.is_set_too_large) warn('person_too_large');
  if (read.event.off_plan !== undefined) warn('off_plan');
  cutMerge(read.event, warn);
  if (warnings.length === 0) return { read, warnings, uuid: sent_uuid };
  return { read, warnings, uuid: sent_uuid, told: { event: name, distinct_id, sent } };
}

/** Cuts the other distinct id of a merge, with the limit of an event's distinct id. */
function cutMerge(event: PlainEvent, warn: Warn): void {
  const { merge } = event;
  if (merge === undefined) return;
  event.merge = { ...merge, other: shortText(merge.other, 'distinct_id_cut', warn) ?? '' };
}

/** Returns the warning's facts about a refused event. */
function refusalOf(
  { name, distinct_id }: Draft,
  reason: WarningReason,
  sent: Told['sent'],
  given?: string,
) {
  const detail = given ?? details[reason] ?? reason;
  if (given !== undefined) sent[reason] = given;
  return {
    read: { problems: [{ attr: null, code: 'invalid_input' as const, detail }] },
    told: { event: excerpt(name), distinct_id: excerpt(distinct_id), sent },
  };
}

/** Sentences that say why an event was refused. */
const details: { [reason in WarningReason]?: string } = {
  distinct_id_missing: 'The event has no person: send a distinct id (user id or anonymous id).',
  event_name_missing: 'The event has no name.',
  event_refused: 'Arrays and objects of the event are nested more than 100 deep.',
  event_too_large: "An event may take at most 2 MiB, 8 MiB at PostHog's paths for AI.",
};

type Warn = (reason: WarningReason, value?: unknown) => void;

/** Returns a sent value for people: a short text or number, or else its kind. */
function asSent(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value)) return 'an object';
  return excerpt(typeof value === 'string' ? value : JSON.stringify(value)) ?? 'nothing';
}

/** Returns a text, cut to the length of an example. */
function excerpt(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, name_length_max + 1) : undefined;
}

function marked(properties: JsonObject, judged: Judged | undefined): JsonObject {
  return judged === undefined ? properties : { ...properties, [`$is_${judged.kind}`]: true };
}

function uuidOf(draft: Draft, warn: Warn): string | undefined {
  const { uuid, message_id } = draft;
  for (const given of [uuid, message_id]) {
    const text = textOf(given);
    if (text === undefined || text === '') continue;
    if (given === uuid && !isUuid(text)) warn('uuid_replaced', given);
    return messageUuid(text);
  }
  if (uuid !== undefined && uuid !== null && uuid !== '') warn('uuid_replaced', uuid);
  return undefined;
}

/** Returns the uuid for a message id: always the same. Undefined if the id is empty. */
export function messageUuid(id: unknown): string | undefined {
  const text = textOf(id);
  if (text === undefined || text === '') return undefined;
  return isUuid(text) ? text.toLowerCase() : nameUuid(text.toWellFormed(), message_namespace);
}

/** Returns a text unchanged, and the JSON of other values; undefined without a value. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || isTooDeep(value)) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns a value as text, cut to the stored length; undefined without a value. Other values than
 * text become their JSON.
 */
function shortText(value: unknown, cut: WarningReason, warn: Warn): string | undefined {
  let text = textOf(value);
  if (text === undefined) return undefined;
  if (text.includes('\0')) {
    text = text.replaceAll('\0', '\uFFFD');
    warn('null_characters_replaced', text);
  }
  const end = text.length <= name_length_max ? text.length : endOf(text, name_length_max);
  if (end === text.length) return text;
  warn(cut, text);
  return text.slice(0, end);
}

/**
 * Returns where to cut after so many characters, with an emoji counted as one, as the protocols'
 * own servers do.
 */
function endOf(text: string, characters: number): number {
  let end = 0;
  for (let left = characters; left > 0 && end < text.length; left -= 1)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return end;
}

/** Returns the time of the event in the store's format. */
function timestampOf(draft: Draft, { received_ms, skew_ms }: Clocks, warn: Warn): string {
  const { at, offset_ms, is_at_right = false } = draft;
  const isNamed = at !== undefined && at !== null;
  const given = isNamed ? at : (offset_ms ?? undefined);
  if (given === undefined) return arrivalInstant(received_ms);
  const read_ms = isNamed ? readTime(at) : received_ms - (readNumber(offset_ms) ?? Number.NaN);
  if (read_ms === undefined || Number.isNaN(read_ms)) {
    warn('timestamp_ignored', given);
    return arrivalInstant(received_ms);
  }
  const shift_ms = is_at_right || !isNamed ? 0 : skew_ms;
  if (shift_ms !== 0) warn('clock_skew_mended', given);
  if (read_ms + shift_ms > received_ms + future_ms_max) {
    warn('timestamp_clamped', given);
    return arrivalInstant(received_ms);
  }
  // An unchanged time keeps its microseconds.
  const as_sent = shift_ms === 0 && typeof at === 'string' ? exactInstant(at) : undefined;
  const instant = as_sent ?? instantOf(read_ms + shift_ms);
  if (instant === undefined) warn('timestamp_ignored', given);
  // Clocks that were never set have such times, and so do programs that send 0.
  else if (instant < '1971') warn('timestamp_of_1970', given);
  return instant ?? arrivalInstant(received_ms);
}

function instantOf(milliseconds: number): string | undefined {
  if (!(Math.abs(milliseconds) < 8.64e15)) return undefined;
  return parseInstant(isoInstant(Math.trunc(milliseconds)));
}

/** Returns the properties, with the person's properties inside. */
function propertiesOf(draft: Draft, warn: Warn): Record<string, unknown> {
  const given = draft.properties ?? {};
  if (!isJsonObject(given)) warn('properties_ignored', given);
  const properties: Record<string, unknown> = isJsonObject(given) ? { ...given } : {};
  for (const [name, beside] of [
    ['$set', draft.set],
    ['$set_once', draft.set_once],
  ] as const) {
    const inside = properties[name];
    if (inside === undefined && beside === undefined) continue;
    const bad = [inside, beside].find(
      (one) => (one ?? undefined) !== undefined && !isJsonObject(one),
    );
    if (bad !== undefined) warn('set_ignored', bad);
    const parts = [inside, beside].filter(isJsonObject);
    if (parts.length > 0) properties[name] = { ...parts[0], ...parts[1] };
    else delete properties[name];
  }
  if (draft.unset !== undefined && draft.unset !== null) properties['$unset'] ??= draft.unset;
  const { $unset: unset } = properties;
  if (unset !== undefined && unset !== null && typeof unset !== 'object')
    warn('set_ignored', unset);
  return properties;
}
