const byte_units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Formats bytes for people: `512 bytes`, `1.2 MB`. */
export function inBytes(bytes: number): string {
  let [value, unit] = [Math.round(bytes), 0];
  while (value >= 999.5 && unit < byte_units.length - 1) [value, unit] = [value / 1000, unit + 1];
  const text = unit === 0 || value >= 99.95 ? Math.round(value).toString() : value.toFixed(1);
  return unit === 0 && value === 1 ? '1 byte' : `${text} ${byte_units[unit]}`;
}

/** Formats a duration for people: `0.3 s`, `45 s`, `3 min 20 s`, `2 h 5 min`. */
export function inTime(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return joined(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return joined(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(seconds / 3_600);
  return joined(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function joined(one: number, unit: string, rest: number, rest_unit: string): string {
  return rest === 0 ? `${one} ${unit}` : `${one} ${unit} ${rest} ${rest_unit}`;
}

/** Formats a number with its noun: `1 row`, `2,000 rows`, `2 deliveries`. */
export function counted(count: number, thing: string): string {
  const things = count === 1 ? thing : `${thing.replace(/(?<![aeiou])y$/, 'ie')}s`;
  return `${count.toLocaleString('en')} ${things}`;
}

/** Formats a number briefly for a chart's axis, such as 1.2K. */
export function inNumbers(value: number): string {
  return value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 });
}
