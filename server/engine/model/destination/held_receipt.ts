/**
 * A receipt that a destination holds, by its name there. Without `text`, it is a name that readers
 * see and that belongs to no receipt.
 */
export type HeldReceipt = { name: string; text: string | undefined };

/** The receipts to look for: all of one export except known deliveries. */
export type WantedReceipts = {
  batch_export_id: string;
  /** The time zone of the export. */
  timezone: string;
  /** Returns true if a delivery is known as completed, by the last twelve characters of its id. */
  isKnown(delivery: string): boolean;
};
