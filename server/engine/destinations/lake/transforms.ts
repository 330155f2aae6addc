const bucket_pattern = /^bucket\[(\d+)\]$/;

/** Returns the number of buckets of a transform; undefined for another one. */
export function bucketsOf(transform: string): number | undefined {
  const found = bucket_pattern.exec(transform);
  return found === null ? undefined : Number(found[1]);
}
