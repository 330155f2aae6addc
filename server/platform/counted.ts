/** A number with its noun: `1 row`, `2 rows`, `2 deliveries`. */
export function counted(count: number, thing: string): string {
  return `${count} ${count === 1 ? thing : `${thing.replace(/(?<![aeiou])y$/, 'ie')}s`}`;
}
