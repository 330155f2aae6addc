import { examples_max } from '../warnings/store.ts';
import type { WarningReason } from '../warnings/warning.ts';
import { parseExact } from './exact_json.ts';
import { openJsonScan } from '../../../platform/json/json_scan.ts';
import type { JsonPlace, JsonScan } from '../../../platform/json/json_scan.ts';

/** A part of an event that is not JSON and was read as something else. */
export type Mended = { reason: WarningReason; sent?: string };

/** The mended events of a body by their index; one that stands alone is 0. */
export type MendedEvents = ReadonlyMap<number, Mended[]>;

/**
 * The value of a body, and what was mended in it; or where it stops being JSON; or that its arrays
 * and objects lie too deep inside each other for any reader.
 */
export type TolerantJson =
  | { value: unknown; mended?: MendedEvents; fault?: undefined }
  | { fault: JsonPlace | 'too_deep' };

/**
 * Reads JSON as `parseExact` does. If that fails, `NaN`, `Infinity` and `-Infinity`, which Python
 * and pandas write, become null: one value must not cost all events beside it. Each U+FFFD of a
 * text whose bytes were no UTF-8 is reported too. Never throws for the content of the text.
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
    // The scan took it for JSON, so only its depth is left.
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
    // No more than are kept: the path of a value can be long.
    known.push(before < examples_max ? { reason, sent: `${path()}: ${written}` } : { reason });
    events.set(event, known);
  }
  return events;
}
