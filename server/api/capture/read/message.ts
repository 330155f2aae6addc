import { isUtf8 } from 'node:buffer';
import { isJsonObject, isTooDeep } from '../../../engine/ingest/parse/exact_json.ts';
import type { PlainEvent } from '../../../engine/ingest/parse/event.ts';
import { holdsTooMuch } from '../../../engine/ingest/parse/event_list.ts';
import { readTolerantJson } from '../../../engine/ingest/parse/tolerant_json.ts';
import type { MendedEvents } from '../../../engine/ingest/parse/tolerant_json.ts';
import { refused_content_bytes_max } from '../../../engine/ingest/warnings/refused_events.ts';
import { examples_max } from '../../../engine/ingest/warnings/store.ts';
import type { WarningReason } from '../../../engine/ingest/warnings/warning.ts';
import { ApiError, notJson, unparsable } from '../../../platform/http/errors.ts';
import { oneKey, shownKeys } from '../keys.ts';
import type { Draft, Protocol, Sent } from '../protocol.ts';
import { protocols } from '../protocols.ts';
import { openDerivedUuids, openUuidsAgain } from './derived_uuid.ts';
import { readDraft } from './read_draft.ts';
import type { Read } from './read_draft.ts';
import { skewOf } from './times.ts';
import { openJudge } from '../../../engine/ingest/rules/intake.ts';
import type { Intake } from '../../../engine/ingest/rules/intake.ts';
import { openTraffic } from './traffic.ts';
import { UnreadError, lz64, packedWithLz64, tooManyValues, unreadBody } from './unpack.ts';
import { openVisitors } from './visitors.ts';
import type { Traffic } from './traffic.ts';

const protocols_of_path = new Map<string, Protocol[]>();
for (const protocol of protocols)
  for (const path of new Set(protocol.match.flatMap(({ paths }) => paths)))
    protocols_of_path.set(path, [...(protocols_of_path.get(path) ?? []), protocol]);

/** The settings of a project for an event that is sent again: its sender is not judged again. */
export type SentAgain = { robot_events?: undefined; intake: Intake | undefined };

/** A parsed message: its key, its protocol, and its events, read one by one. */
export type Message = {
  protocol: string;
  key: string;
  length: number;
  /** Reads its events, for a project with these traffic settings. Call it once. */
  read(traffic?: Traffic | SentAgain): IteratorObject<Read<PlainEvent>>;
};

/**
 * Reads the unpacked bytes of a request with events. Throws an ApiError for a fault of the whole
 * request: 401 for its key, and an UnreadError for its form.
 */
export function openMessage(bytes: Buffer, sent: Sent): Message {
  try {
    return readMessage(bytes, sent);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    throw new UnreadError(error.type, error.violations, unreadBody(bytes));
  }
}

function readMessage(bytes: Buffer, sent: Sent): Message {
  const mine = protocolsOf(sent.path);
  const own = mine.find(({ parse }) => parse !== undefined)?.parse?.(bytes, sent);
  const { value: body, mended } = own === undefined ? readJson(bytes, sent) : { value: own };
  const protocol = mine.find(({ recognises }) => recognises === undefined || recognises(body));
  const decoded = protocol?.decode(body, sent);
  if (protocol === undefined || decoded === undefined)
    throw unparsable('The SDKs of this path send another format: see docs/sdks.md.');
  const { length, events, keys, sent_at } = decoded;
  const clocks = { received_ms: sent.received_ms, skew_ms: skewOf(sent.received_ms, sent_at) };
  const { again } = sent;
  const key = again === undefined ? oneKey([...shownKeys(sent), ...keys]) : '';
  return {
    protocol: protocol.name,
    key,
    length,
    read: (given) => {
      const traffic = given?.robot_events === undefined ? undefined : given;
      const intake = given?.intake;
      const before = {
        intake: intake === undefined ? undefined : openJudge(intake),
        user_agent: sent.sender.user_agent,
        judge: openTraffic(traffic),
        named: traffic === undefined ? undefined : openVisitors(traffic),
        derived: again === undefined ? openDerivedUuids(key) : openUuidsAgain(again),
        alone: again === undefined ? openAlone(protocol, sent_at, sent) : undefined,
      };
      const thin = openThinning();
      const drafts = mended === undefined ? events : withMended(events, mended, length);
      return Iterator.from(drafts).map((draft) => thin(readDraft(draft, clocks, before)));
    },
  };
}

/** Opens the record of refused events, unless they are too long to keep. */
function openAlone({ alone }: Protocol, sent_at: unknown, sent: Sent) {
  if (alone === undefined) return undefined;
  return ({ source }: Draft) => {
    // Neither this server nor a destination could read it.
    if (isTooDeep(source)) return undefined;
    const text = JSON.stringify(alone(source, sent_at, sent));
    return text.length > refused_content_bytes_max ? undefined : text;
  };
}

/** Returns the events, each with its repaired parts. */
function* withMended(
  events: Iterator<Draft>,
  mended: MendedEvents,
  length: number,
): Generator<Draft> {
  let at = 0;
  for (const draft of Iterator.from(events)) {
    // If there is only one event, every value of the body belongs to it.
    const own = length === 1 ? [...mended.values()].flat() : mended.get(at);
    yield own === undefined ? draft : { ...draft, mended: [...(draft.mended ?? []), ...own] };
    at += 1;
  }
}

/** Limits the examples of each reason to the number that is kept. */
function openThinning(): (read: Read<PlainEvent>) => Read<PlainEvent> {
  const told = new Map<WarningReason, number>();
  return (read) => {
    if (read.told === undefined || read.content !== undefined) return read;
    let is_wanted = false;
    for (const reason of read.warnings) {
      const before = told.get(reason) ?? 0;
      told.set(reason, before + 1);
      is_wanted ||= before < examples_max;
    }
    if (is_wanted) return read;
    const { told: _none, ...others } = read;
    return others;
  };
}

/** Returns the protocols of the path, with or without a slash at its end. */
export function protocolsOf(path: string): readonly Protocol[] {
  return protocols_of_path.get(path.endsWith('/') ? path : `${path}/`) ?? [];
}

/** Without `data`, the query of a GET is itself the event. */
function readJson(given: Buffer, sent: Sent): { value: unknown; mended?: MendedEvents } {
  if (given.length === 0 && sent.method === 'GET') return { value: sent.query };
  const bytes = isUtf8(given) ? given : withWholeCharacters(given);
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (holdsTooMuch(text)) throw tooManyValues();
  const read = readTolerantJson(text, bytes === given || isUtf8(bytes));
  if (read.fault === undefined) {
    const { value } = read;
    if (isJsonObject(value) || Array.isArray(value)) return read;
    throw unparsable('The body must be a JSON object or a list.');
  }
  if (read.fault === 'too_deep') throw unparsable('The body is nested too deeply.');
  if (sent.query['compression'] === lz64) throw packedWithLz64();
  throw notJson(read.fault);
}

const pair = /\xed([\xa0-\xaf])([\x80-\xbf])\xed([\xb0-\xbf])([\x80-\xbf])/g;
const half = /\xed[\xa0-\xbf][\x80-\xbf]/g;
const replacement = Buffer.from('\uFFFD').toString('latin1');

/**
 * Returns the bytes with each character in valid UTF-8: joins surrogate pairs whose halves were
 * encoded one by one, and replaces a lone half by U+FFFD. Older browser libraries encode base64 so,
 * and an emoji must not lose their events. Other faults stay.
 */
function withWholeCharacters(bytes: Buffer): Buffer {
  // One character per byte, so that text functions can search the bytes.
  const text = bytes
    .toString('latin1')
    .replace(pair, (_all, ...bits: string[]) => {
      const [a, b, c, d] = bits.slice(0, 4).map((letter) => letter.charCodeAt(0) & 0x3f);
      const both = String.fromCharCode(0xd000 | (a! << 6) | b!, 0xd000 | (c! << 6) | d!);
      return Buffer.from(both).toString('latin1');
    })
    .replace(half, replacement);
  return Buffer.from(text, 'latin1');
}
