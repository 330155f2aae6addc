const units: Record<string, number> = {
  millisecond: 1,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/**
 * Returns the milliseconds of a duration in a table property, such as `interval 30 days`; undefined
 * for another text.
 */
export function milliseconds(text: string | undefined): number | undefined {
  const parts = /^(?:interval\s+)?(\d+)\s+([a-z]+?)s?$/i.exec(text?.trim() ?? '');
  const unit = units[parts?.[2]?.toLowerCase() ?? ''];
  return unit === undefined ? undefined : Number(parts![1]) * unit;
}
