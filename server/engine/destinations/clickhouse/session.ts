import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from './connection.ts';
import type { Look } from './look.ts';
import type { Table } from './table.ts';

/**
 * One attempt at a delivery. `stage` is its own table, which nobody else writes to, and the id that
 * its rows carry; `delivered_stage_id` names the stage whose rows are in the target with a receipt;
 * `target` is the table as it is, once it is prepared, and `stages` are the tables of the delivery
 * that were there right before; `has_slices` says that slices wait in tables of their own and not
 * in the stage. `look` is the first one, until it is used. `written` counts the rows of the one
 * INSERT into the stage, as the server says it; it is 0 after a second one.
 */
export type Session = {
  connection: Connection;
  delivery: Delivery;
  stage: { table: string; id: string };
  target: Table | undefined;
  stages: string[] | undefined;
  has_slices: boolean;
  look: Look | undefined;
  written: number | undefined;
  delivered_stage_id: string | undefined;
};
