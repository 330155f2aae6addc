/** Counts the records of a slice from its uncompressed bytes as they pass, in bounded memory. */
export type RecordCounter = {
  /** Returns the bytes unchanged, except for Avro with our markers. */
  take(chunk: Buffer): Buffer;
  /** Returns bytes that were held until the end. */
  rest?(): Buffer;
  /** Returns the number of records; throws if the bytes end within a record. */
  total(): number;
};
