import { isUuid } from '../../../platform/uuid.ts';

/**
 * Why a receipt at the destination has another text than the one kept here, as a sentence: it may
 * stand for an erasure that was done after the backup from which this server was restored.
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

/** The ids of erasures (version 7) begin with the instant, in milliseconds. */
function askedAt(id: string): string {
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString();
}
