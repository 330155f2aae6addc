import type { NamedDelivery } from '../../formats/naming.ts';
import { lastPart, parseDeliveryName, stemOf } from '../../formats/naming.ts';
import { decodedPath } from './actions.ts';
import { hasParts } from './parts.ts';
import type { State } from './actions.ts';

/** A delivery of an export. */
export type ExportDelivery = Omit<NamedDelivery, 'timezone'> & { batch_export_id: string };

/** Returns the name under which an export records its progress in the log. */
export function appIdOf(batch_export_id: string): string {
  return `sluice/${batch_export_id}`;
}

/** Returns the name under which an export records its written generation. */
export function generationIdOf(batch_export_id: string): string {
  return `${appIdOf(batch_export_id)}/generation`;
}

/** Returns true if another export has recorded its progress in the log. */
export function isShared({ txns }: State, batch_export_id: string): boolean {
  return [...txns.keys()].some((id) => {
    const [own, by] = id.split('/');
    return own === 'sluice' && by !== batch_export_id;
  });
}

/** Returns the number of a delivery in that record: the part of its id in its file names. */
export function numberOf(delivery_id: string): number {
  return Number.parseInt(endOf(delivery_id), 16);
}

/**
 * Returns true if the table has the delivery. It names its files or files that have their rows now,
 * it remembers their removal, or the delivery is the last one of the export.
 */
export function isShown(state: State, delivery: ExportDelivery): boolean {
  const last = state.txns.get(appIdOf(delivery.batch_export_id));
  if (last !== undefined && Number(last.version) === numberOf(delivery.delivery_id)) return true;
  if (hasParts(state, endOf(delivery.delivery_id))) return true;
  return [state.adds, state.removes].some((files) => namesOf(files, delivery).length > 0);
}

/** Finds a delivery's data files among those of the table, anywhere in its folder. */
function namesOf(files: ReadonlyMap<string, unknown>, delivery: ExportDelivery): string[] {
  const stem = stemOf('', { ...delivery, timezone: 'UTC' });
  return [...files.keys()].map(decodedPath).filter((name) => {
    const parsed = parseDeliveryName(name);
    return parsed?.is_receipt === false && lastPart(parsed.stem) === stem;
  });
}

/** Returns the part of a delivery's id in its file names. */
function endOf(delivery_id: string): string {
  return delivery_id.replaceAll('-', '').slice(-12);
}
