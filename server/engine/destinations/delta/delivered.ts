import type { NamedDelivery } from '../formats/naming.ts';
import { isOfStem, stemOf } from '../formats/naming.ts';
import { decodedPath } from './actions.ts';
import type { State } from './actions.ts';

/** A delivery of an export. */
export type ExportDelivery = Omit<NamedDelivery, 'timezone'> & { batch_export_id: string };

/** The name under which an export tells its progress in the log. */
export function appIdOf(batch_export_id: string): string {
  return `sluice/${batch_export_id}`;
}

/** The number of a delivery in that: the part of its id that the names of its files have. */
export function numberOf(delivery_id: string): number {
  return Number.parseInt(delivery_id.replaceAll('-', '').slice(-12), 16);
}

/**
 * Returns true if the table has got the delivery: it names its files, it remembers that another
 * writer has removed them, or it is the last one of the export.
 */
export function isShown(state: State, delivery: ExportDelivery): boolean {
  const last = state.txns.get(appIdOf(delivery.batch_export_id));
  if (last !== undefined && Number(last.version) === numberOf(delivery.delivery_id)) return true;
  const stem = stemOf('', { ...delivery, timezone: 'UTC' });
  for (const files of [state.adds, state.removes])
    for (const path of files.keys()) if (isOfStem(decodedPath(path), stem)) return true;
  return false;
}
