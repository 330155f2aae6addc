import type { NamedDelivery } from '../../formats/naming.ts';
import { lastPart, parseDeliveryName, stemOf } from '../../formats/naming.ts';
import { decodedPath } from './actions.ts';
import { hasParts } from './parts.ts';
import type { State } from './actions.ts';

/** A delivery of an export. */
export type ExportDelivery = Omit<NamedDelivery, 'timezone'> & { batch_export_id: string };

/** The name under which an export tells its progress in the log. */
export function appIdOf(batch_export_id: string): string {
  return `sluice/${batch_export_id}`;
}

/** The name under which an export tells the generation that it has written. */
export function generationIdOf(batch_export_id: string): string {
  return `${appIdOf(batch_export_id)}/generation`;
}

/** Returns true if an export other than this one has told its progress in the log. */
export function isShared({ txns }: State, batch_export_id: string): boolean {
  return [...txns.keys()].some((id) => {
    const [own, by] = id.split('/');
    return own === 'sluice' && by !== batch_export_id;
  });
}

/** The number of a delivery in that: the part of its id that the names of its files have. */
export function numberOf(delivery_id: string): number {
  return Number.parseInt(endOf(delivery_id), 16);
}

/**
 * Returns true if the table has got the delivery: it names its files or files that have their rows
 * now, it remembers that somebody has removed them, or it is the last one of the export.
 */
export function isShown(state: State, delivery: ExportDelivery): boolean {
  const last = state.txns.get(appIdOf(delivery.batch_export_id));
  if (last !== undefined && Number(last.version) === numberOf(delivery.delivery_id)) return true;
  if (hasParts(state, endOf(delivery.delivery_id))) return true;
  return [state.adds, state.removes].some((files) => namesOf(files, delivery).length > 0);
}

/** Names of a delivery's data files among those of the table, wherever in its folder they lie. */
function namesOf(files: ReadonlyMap<string, unknown>, delivery: ExportDelivery): string[] {
  const stem = stemOf('', { ...delivery, timezone: 'UTC' });
  return [...files.keys()].map(decodedPath).filter((name) => {
    const parsed = parseDeliveryName(name);
    return parsed?.is_receipt === false && lastPart(parsed.stem) === stem;
  });
}

/** The part of a delivery's id that the names of its files have. */
function endOf(delivery_id: string): string {
  return delivery_id.replaceAll('-', '').slice(-12);
}
