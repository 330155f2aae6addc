import { isJsonObject, nesting_max } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';

/** Returns a list of `{key, value}` as an object, without entries that have no key. */
export function plainAttributes(list: unknown, depth = 0): JsonObject {
  if (!Array.isArray(list)) return {};
  return Object.fromEntries(
    list.flatMap((pair: unknown) =>
      isJsonObject(pair) && typeof pair['key'] === 'string'
        ? [[pair['key'], plainValue(pair['value'], depth)] as const]
        : [],
    ),
  );
}

/**
 * Returns the plain value of a typed value. A 64-bit number beyond JavaScript's range stays text. A
 * value that is nested too deeply becomes null, and its event is refused.
 */
export function plainValue(value: unknown, depth = 0): unknown {
  if (!isJsonObject(value) || depth > nesting_max) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } =
    value;
  if (typeof stringValue === 'string') return stringValue.toWellFormed();
  if (typeof boolValue === 'boolean') return boolValue;
  if (intValue !== undefined) return wholeNumber(intValue);
  if (doubleValue !== undefined) return numberOrText(doubleValue);
  if (bytesValue instanceof Uint8Array) return Buffer.from(bytesValue).toString('base64');
  if (bytesValue !== undefined) return bytesValue;
  if (isJsonObject(kvlistValue)) return plainAttributes(kvlistValue['values'], depth + 1);
  const items = isJsonObject(arrayValue) ? arrayValue['values'] : undefined;
  return Array.isArray(items) ? items.map((item) => plainValue(item, depth + 1)) : null;
}

function wholeNumber(value: unknown): unknown {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number : value;
}

/** JSON cannot express infinite numbers and NaN. */
function numberOrText(value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
