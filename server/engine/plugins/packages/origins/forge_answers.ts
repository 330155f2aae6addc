import { PluginError } from '../../plugin.ts';
import { isFields } from '../../../../platform/fields.ts';
import { unreadable } from './origin_request.ts';

/**
 * Returns the texts under one key of a list of objects. Guarantee: an answer of any other shape
 * throws `PluginError` with code `unreachable` and the forge's name.
 */
export function textsOf(origin: string, found: unknown, key: string): string[] {
  if (!Array.isArray(found)) throw unreadable(origin);
  return found.map((item) => {
    const value: unknown = isFields(item) ? item[key] : undefined;
    if (typeof value !== 'string') throw unreadable(origin);
    return value;
  });
}

/** For `catch`: returns undefined if the forge does not have it, and rethrows other faults. */
export function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof PluginError && error.code === 'not_found') return undefined;
  throw error;
}
