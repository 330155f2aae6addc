import { isSigned } from '../../../platform/secrets/secrets.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { rejectedCount } from '../../model/destination/rejected_rows.ts';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import type { EventFilter } from '../../model/models/event_filter.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import type { ReplacedReceipt } from '../../model/run.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

/** The receipt of a delivery, signed and left at the destination. */
export type Receipt = {
  version: 1;
  delivery_id: string;
  run_id: string;
  batch_export_id: string;
  team_id: number;
  model: string;
  data_interval_start: string;
  data_interval_end: string;
  /** The instant as of which the rows are the whole table; absent if they are a part. */
  generation?: string;
  selection: StoredRectangle[];
  /** Only events with these names were read, and none with those; empty: no restriction. */
  include_events: string[];
  exclude_events: string[];
  /** Rows counted at the source before the first write. */
  source_records: number;
  records: number;
  /** Rows that the destination refused and the run set aside; absent if none. */
  rejected_records?: number;
  bytes: number;
  encoding: Encoding;
  /** The number of the schema that defines the typed columns. */
  schema_number?: number;
  columns: { name: string; type: string; nullable: boolean }[];
  /**
   * `rows_digest` or `digest` covers the contents of a slice's rows in any order and notation
   * (docs/decisions/0137, 0031); slices of files and of merged persons have none.
   */
  slices: {
    number: number;
    name: string;
    records: number;
    rejected_records?: number;
    bytes: number;
    sha256: string;
    rows_digest?: string;
    digest?: string;
  }[];
  /** The receipt that this one replaces, and the erasure that caused it. */
  replaces?: ReplacedReceipt;
  created_at: string;
};

type SignedReceipt = Receipt & {
  signature: { algorithm: 'Ed25519'; public_key: string; value: string };
};

/** Returns the receipt of a delivery whose slices are all safe; rows and bytes are their sums. */
export function createReceipt(
  delivery: Delivery,
  facts: {
    selection: StoredRectangle[];
    event_filter: EventFilter;
    source_records: number;
    encoding: Encoding;
    outcomes: SliceOutcome[];
    replaces: ReplacedReceipt | null;
    created_at: string;
  },
): Receipt {
  const {
    columns,
    attempt: _attempt,
    erased: _erased,
    rejects: _rejects,
    redelivers: _redelivers,
    timezone: _timezone,
    merge: _merge,
    ...names
  } = delivery;
  return {
    version: 1,
    ...names,
    selection: facts.selection,
    ...facts.event_filter,
    source_records: facts.source_records,
    records: facts.outcomes.reduce((sum, outcome) => sum + outcome.records, 0),
    ...rejectedIn(facts.outcomes),
    bytes: facts.outcomes.reduce((sum, outcome) => sum + outcome.bytes, 0),
    encoding: facts.encoding,
    columns: columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
    slices: facts.outcomes.map((outcome) => ({
      number: outcome.number,
      name: outcome.name,
      records: outcome.records,
      ...rejectedIn([outcome]),
      bytes: outcome.bytes,
      sha256: outcome.sha256,
      ...(outcome.rows_digest === undefined ? {} : { rows_digest: outcome.rows_digest }),
      ...(outcome.digest === undefined ? {} : { digest: outcome.digest }),
    })),
    ...(facts.replaces === null ? {} : { replaces: facts.replaces }),
    created_at: facts.created_at,
  };
}

function rejectedIn(outcomes: SliceOutcome[]): { rejected_records?: number } {
  const rejected_records = rejectedCount(outcomes);
  return rejected_records === 0 ? {} : { rejected_records };
}

/**
 * Returns the receipt as signed JSON text. The signature covers the JSON text of the receipt
 * without its last key, `signature`.
 */
export function signReceipt(receipt: Receipt, secrets: Secrets): string {
  return signedText(receipt, secrets);
}

/** Returns the JSON text of a record with the signature as its last key. */
export function signedText(record: object, secrets: Secrets): string {
  const text = JSON.stringify(record);
  const signature: SignedReceipt['signature'] = {
    algorithm: 'Ed25519',
    public_key: secrets.public_key,
    value: secrets.sign(text),
  };
  return `${text.slice(0, -1)},"signature":${JSON.stringify(signature)}}`;
}

/**
 * Reads signed receipt text. Returns undefined if the text is no receipt, has another signature
 * than that of the public key, or was changed.
 */
export function readReceipt(text: string, publicKey: string): Receipt | undefined {
  const parsed = parseJson(text) as Partial<SignedReceipt> | undefined;
  if (parsed === undefined) return undefined;
  const { signature, ...receipt } = parsed;
  if (signature === undefined || !isSigned(JSON.stringify(receipt), signature.value, publicKey))
    return undefined;
  return receipt as Receipt;
}
