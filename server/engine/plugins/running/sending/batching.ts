import type { ToolDefinition, ToolMapping } from '../../tools/tool.ts';

/** The limits of a mapping's batches. */
export type Batching = {
  /** Number of events. */
  size: number;
  /**
   * True: a batch is a part of the stream, with several events of one person. False: it has one
   * event of each person.
   */
  is_in_order: boolean;
  /** Number of failures with the same batch before it is divided. */
  whole_tries: number;
};

/** The limits of a tool's batch: bytes of the fields, and the fields that its events share. */
export type ToolBatching = Batching & { bytes: number; keys: string[] };

const size_max = 1_000;
const bytes_max = 4_000_000;

/**
 * Returns the batching that a mapping's action asks for, by its fields; undefined: one event for
 * each request. Actions without a switch for batches only have a size.
 */
export function batchingOf(
  { actions }: Pick<ToolDefinition, 'actions'>,
  { partnerAction, mapping }: ToolMapping,
): ToolBatching | undefined {
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
    is_in_order: false,
    whole_tries: 0,
    bytes: boundOf(valueOf('batch_bytes'), bytes_max),
    keys: Array.isArray(keys) ? keys.map(String) : [],
  };
}

function boundOf(value: unknown, max: number): number {
  const number = Math.floor(Number(value ?? max));
  return number > 0 ? Math.min(number, max) : max;
}
