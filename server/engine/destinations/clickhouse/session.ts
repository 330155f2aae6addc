import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from './connection.ts';
import type { Look } from './look.ts';
import type { Table } from './table.ts';

/**
 * One attempt at a delivery. `stage` is its own table, which nobody else writes to, and the id that
 * its rows have. `delivered_stage_id` is the stage whose rows are in the target with a receipt.
 * `target` is the prepared table, and `stages` are the delivery's tables right before.
 * `has_slices`: slices wait in separate tables instead of the stage. `look` is the first one, until
 * it is used. `written` counts the rows of the only INSERT into the stage, as the server reports
 * it; it is 0 after a second one.
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
