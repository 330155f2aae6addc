import { addressOf } from '../../http/address.ts';
import { receiptPath } from './runs.ts';
import type { ExportIds } from '../export_context.ts';

/** A link to the signed receipt of a completed run, as a file. */
export function ReceiptLink({ ids, run_id }: { ids: ExportIds; run_id: string }) {
  return (
    <a href={addressOf(receiptPath(ids, run_id))} download={`receipt_${run_id}.json`}>
      receipt
    </a>
  );
}
