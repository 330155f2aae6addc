import { examples_max } from '../warnings/store.ts';
import type { WarningReason } from '../warnings/warning.ts';
import { parseExact } from './exact_json.ts';
import { openJsonScan } from '../../../platform/json/json_scan.ts';
import type { JsonPlace, JsonScan } from '../../../platform/json/json_scan.ts';

/** A part of an event that is not JSON and was read as something else. */
export type Mended = { reason: WarningReason; sent?: string };

/** The repaired events of a body by index; a single event has index 0. */
export type MendedEvents = ReadonlyMap<number, Mended[]>;

/**
 * The value of a body with its repairs; or the place where it stops being JSON; or the fault that
 * its arrays and objects are nested too deep.
 */
export type TolerantJson =
  | { value: unknown; mended?: MendedEvents; fault?: undefined }
  | { fault: JsonPlace | 'too_deep' };

/**
 * Reads JSON like `parseExact`. If that fails, `NaN`, `Infinity` and `-Infinity`, which Python and
 * pandas write, become null: one value must not lose all other events. Reports each U+FFFD of a
 * text whose bytes were not UTF-8, too. Never throws because of the content.
 */
export function readTolerantJson(text: string, is_utf8 = true): TolerantJson {
  try {
    const value = parseExact(text);
    return is_utf8 ? { value } : { value, mended: mendedOf(openJsonScan(text), true) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'too_deep' };
  }
  const scan = openJsonScan(text);
  const mended = mendedOf(scan, !is_utf8);
  const { fault } = scan;
  if (fault !== undefined) return { fault };
  try {
    return { value: parseExact(scan.withNulls()), mended };
  } catch {
    // The scan accepted it as JSON, so only its depth can be wrong.
    return { fault: 'too_deep' };
  }
}

function mendedOf(scan: JsonScan, is_text_broken: boolean): MendedEvents {
  const events = new Map<number, Mended[]>();
  const told: { [reason in WarningReason]?: number } = {};
  for (const { kind, written, item: event, path } of scan.read(is_text_broken)) {
    const reason = kind === 'number' ? 'invalid_number_replaced' : 'invalid_utf8_replaced';
    const known = events.get(event) ?? [];
    if (known.some((one) => one.reason === reason)) continue;
    const before = told[reason] ?? 0;
    told[reason] = before + 1;
    // Only as many as are stored: the path of a value can be long.
    known.push(before < examples_max ? { reason, sent: `${path()}: ${written}` } : { reason });
    events.set(event, known);
  }
  return events;
}
