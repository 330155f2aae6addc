import type { ToolDefinition, ToolMapping } from '../../tools/tool.ts';

/** The bounds of the batches of a mapping. */
export type Batching = {
  /** Number of events. */
  size: number;
  /**
   * They are the stream itself, several events of one person among them; else a batch has one event
   * of each person.
   */
  is_in_order: boolean;
  /** Number of failures after which the same batch comes again, before it is divided. */
  whole_tries: number;
};

/** The bounds of a batch that its tool divides: bytes of the fields, and what its events share. */
export type ToolBatching = Batching & { bytes: number; keys: string[] };

const size_max = 1_000;
const bytes_max = 4_000_000;

/**
 * The batches that a mapping asks for, by the fields of its action; undefined: one event for each
 * request. Actions without a switch for batches have their size as one.
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
