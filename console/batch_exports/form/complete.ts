import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { fieldValue, isShown, keysOf, mustBeFilled } from '../../destinations/config.ts';
import { storedConfig } from './draft.ts';
import type { Base, Draft } from './draft.ts';

/** Returns true if each required field has a value, so that the API can show rows. */
export function isComplete(
  type: DestinationType | undefined,
  draft: Draft,
  base: Base | undefined,
  stored_secrets: readonly string[],
): boolean {
  if (type === undefined || (draft.is_query && draft.custom_query.trim() === '')) return false;
  const stored = storedConfig(draft, base);
  return keysOf(type)
    .filter(([key]) => mustBeFilled(type, key) && isShown(type, key, draft.typed, stored))
    .every(
      ([key, schema]) =>
        (stored !== undefined && stored_secrets.includes(key)) ||
        fieldValue(key, schema, draft.typed, stored) !== '',
    );
}
