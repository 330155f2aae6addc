/** A tree without its positions and without brackets that change nothing. */
export function withoutSpans(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSpans);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) =>
      key === 'start' || key === 'end' ? [] : [[key, withoutSpans(part)]],
    ),
  );
}
