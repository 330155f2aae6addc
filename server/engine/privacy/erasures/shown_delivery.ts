import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { EventFilter } from '../../model/models/event_filter.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';
import type { ModelName } from '../../model/models/model.ts';

/** A delivery as its newest possibly shown run left it, and its current export. */
export type ShownDelivery = {
  run_id: string;
  delivery_id: string;
  batch_export_id: string;
  name: string;
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  write_rule: WriteRule | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  is_current: boolean;
  is_completed: boolean;
  selection: StoredRectangle[];
  data_interval_start: string;
  data_interval_end: string;
  /** The facts in its receipt; null without a receipt. */
  facts: ({ source_records: number; names: string[] } & Partial<EventFilter>) | null;
};
