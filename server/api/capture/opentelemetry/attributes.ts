import { isJsonObject, nesting_max } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';

/** A list of `{key, value}` as an object; what has no key is left out. */
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
 * Returns the value of a typed one. A number of 64 bits that JavaScript cannot hold stays text. A
 * value deeper than an event may be nested becomes null, and its event is refused for it.
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

/** JSON has no word for what is not finite. */
function numberOrText(value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
