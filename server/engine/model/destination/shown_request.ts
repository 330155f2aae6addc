/**
 * A request as a preview shows it: with `********` in the place of each secret. `body` is what is
 * sent, `text` the same before compression.
 */
export type ShownRequest = {
  format: string;
  compression: string | null;
  records: number;
  headers: Record<string, string>;
  text: string;
  body: Buffer;
};
