import { deliverText, freshDelivery } from '../factories/batch_exports/deliveries.ts';
import type { Delivery } from '../../server/engine/model/destination/destination.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { SnowflakeConfig } from '../../server/engine/destinations/snowflake/config.ts';
import { snowflake } from '../../server/engine/destinations/snowflake/snowflake.ts';
import { deps } from './snowflake_world.ts';

/** The columns of the deliveries. */
export const noteOnly: Column[] = [
  { name: 'note', type: 'text', nullable: true, expression: 'note' },
];

/** A new delivery of a note. */
export const delivery = (changes: Partial<Delivery> = {}) =>
  freshDelivery({ columns: noteOnly, ...changes });

/** A whole delivery of this text. */
export const deliver = (config: SnowflakeConfig, given: Delivery, text: string) =>
  deliverText(snowflake, { config, delivery: given, deps }, text);
