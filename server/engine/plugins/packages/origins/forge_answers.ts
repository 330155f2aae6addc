import { PluginError } from '../../plugin.ts';
import { isFields } from '../../../../platform/fields.ts';
import { unreadable } from './origin_request.ts';

/**
 * The texts under one key of a list of objects. Guarantee: an answer of any other shape throws
 * `PluginError` of code `unreachable` that names the forge.
 */
export function textsOf(origin: string, found: unknown, key: string): string[] {
  if (!Array.isArray(found)) throw unreadable(origin);
  return found.map((item) => {
    const value: unknown = isFields(item) ? item[key] : undefined;
    if (typeof value !== 'string') throw unreadable(origin);
    return value;
  });
}

/** For `catch`: undefined for what the forge does not have, every other fault is thrown on. */
export function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof PluginError && error.code === 'not_found') return undefined;
  throw error;
}
