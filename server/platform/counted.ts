/** Returns a number with its noun: `1 row`, `2,000 rows`, `2 deliveries`. */
export function counted(count: number, thing: string): string {
  const things = count === 1 ? thing : `${thing.replace(/(?<![aeiou])y$/, 'ie')}s`;
  return `${count.toLocaleString('en')} ${things}`;
}
