/**
 * A receipt as a destination holds it, by its name there. Without `text` it is a name that readers
 * see and no receipt accounts for.
 */
export type HeldReceipt = { name: string; text: string | undefined };

/** Which receipts are asked for: those of one export, but for deliveries that are known. */
export type WantedReceipts = {
  batch_export_id: string;
  /** The zone of the export. */
  timezone: string;
  /** Whether a delivery is known as completed, by the last twelve characters of its id. */
  isKnown(delivery: string): boolean;
};
