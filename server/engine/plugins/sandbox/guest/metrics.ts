import { platform, toText } from './bridge.ts';

/** Ways to combine the numbers of a metric. */
export type Operation = 'sum' | 'max' | 'min';

type Counter = Partial<Record<'increment' | 'max' | 'min', (value?: number) => Promise<void>>>;

const joined: Record<Operation, (one: number, other: number) => number> = {
  sum: (one, other) => one + other,
  max: (one, other) => (one > other ? one : other),
  min: (one, other) => (one < other ? one : other),
};

let counted: Record<string, number> = Object.create(null) as Record<string, number>;

/**
 * Creates a plugin's metrics, by the names that it exports: `increment(value)` of a sum,
 * `max(value)`, `min(value)`. The default value is 1; a value that is no number is ignored.
 */
export function createMetrics(operations: Record<string, Operation>): Record<string, Counter> {
  const entries = Object.entries(operations).map(([name, operation]) => {
    const count = async (value: unknown = 1): Promise<void> => {
      if (typeof value !== 'number' || !Number.isFinite(value)) return;
      const before = counted[name];
      counted[name] = before === undefined ? value : joined[operation](before, value);
    };
    return [name, { [operation === 'sum' ? 'increment' : operation]: count }] as const;
  });
  return Object.fromEntries(entries);
}

/** Sends the counts since the last time; called before the end of a call. */
export function sendMetrics(): void {
  const values = counted;
  counted = Object.create(null) as Record<string, number>;
  if (Object.keys(values).length > 0) platform.send('metrics', 0, '', toText(values));
}
