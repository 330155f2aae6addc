/**
 * A receipt as a destination holds it, by its name there. Without `text` it is a name that readers
 * see and no receipt accounts for.
 */
export type HeldReceipt = { name: string; text: string | undefined };

/** The receipts to look for: those of one export, except for known deliveries. */
export type WantedReceipts = {
  batch_export_id: string;
  /** The zone of the export. */
  timezone: string;
  /** Returns true if a delivery is known as completed, by the last twelve characters of its id. */
  isKnown(delivery: string): boolean;
};
