/**
 * A request as a preview shows it, with `********` in place of each secret. `body` is sent; `text`
 * is the same before compression.
 */
export type ShownRequest = {
  format: string;
  compression: string | null;
  records: number;
  headers: Record<string, string>;
  text: string;
  body: Buffer;
};
