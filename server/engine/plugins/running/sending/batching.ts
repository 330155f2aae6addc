import type { ToolDefinition, ToolMapping } from '../../tools/tool.ts';

/** The bounds of the batches of a mapping: events, bytes of their fields, and what they share. */
export type Batching = { size: number; bytes: number; keys: string[] };

const size_max = 1_000;
const bytes_max = 4_000_000;

/**
 * The batches that a mapping asks for, by the fields of its action; undefined: one event for each
 * request. Actions without a switch for batches have their size as one.
 */
export function batchingOf(
  { actions }: Pick<ToolDefinition, 'actions'>,
  { partnerAction, mapping }: ToolMapping,
): Batching | undefined {
  const fields = actions[partnerAction]?.fields ?? {};
  const valueOf = (key: string): unknown => mapping[key] ?? fields[key]?.default;
  const size = boundOf(valueOf('batch_size'), size_max);
  const isOn = Object.hasOwn(fields, 'enable_batching')
    ? String(valueOf('enable_batching')) === 'true'
    : Number(valueOf('batch_size') ?? 0) > 1;
  if (!isOn || size < 2) return undefined;
  const keys = valueOf('batch_keys');
  return {
    size,
    bytes: boundOf(valueOf('batch_bytes'), bytes_max),
    keys: Array.isArray(keys) ? keys.map(String) : [],
  };
}

function boundOf(value: unknown, max: number): number {
  const number = Math.floor(Number(value ?? max));
  return number > 0 ? Math.min(number, max) : max;
}
