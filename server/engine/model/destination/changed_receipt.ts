import { isUuid } from '../../../platform/uuid.ts';

/**
 * Returns a sentence that explains why a receipt at the destination differs from the stored one. An
 * erasure that ran after the restored backup may have rewritten it.
 */
export function whyChanged(text: string): string {
  const erasure_id = erasureOf(text);
  return erasure_id === undefined
    ? 'Its text differs from the receipt kept here.'
    : `The delivery was rewritten for the erasure ${erasure_id} (requested at ` +
        `${askedAt(erasure_id)}), which this server has lost. Request the erasure again, unless ` +
        'the restore reported that it is repeated.';
}

function erasureOf(text: string): string | undefined {
  try {
    const { replaces } = JSON.parse(text) as { replaces?: { erasure_id?: unknown } };
    const id = replaces?.erasure_id;
    return typeof id === 'string' && isUuid(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the instant of an erasure. Its id (version 7) begins with it, in milliseconds. */
function askedAt(id: string): string {
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString();
}
