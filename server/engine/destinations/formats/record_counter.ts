/** Counts the records of a slice from its uncompressed bytes as they pass, in bounded memory. */
export type RecordCounter = {
  /** Gives the bytes on as they are, those of Avro with markers of ours. */
  take(chunk: Buffer): Buffer;
  /** Gives bytes that were held at the end. */
  rest?(): Buffer;
  /** The number of records; throws when the bytes end where no record ends. */
  total(): number;
};
