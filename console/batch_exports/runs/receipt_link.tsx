import { addressOf } from '../../http/address.ts';
import { runPath } from './runs.ts';

/** The signed receipt of a completed run, to be kept as a file. */
export function ReceiptLink({ path, run_id }: { path: string; run_id: string }) {
  return (
    <a href={addressOf(`${runPath(path, run_id)}receipt/`)} download={`receipt_${run_id}.json`}>
      receipt
    </a>
  );
}
