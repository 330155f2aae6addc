import type { Fault } from './fault.ts';

/** Faults of receipts, and of their verification. */
export const receipts_faults: Fault[] = [
  {
    name: 'a receipt that another server signed is taken for ours',
    path: 'server/engine/exports/runs/receipt.ts',
    was: 'JSON.stringify(receipt), signature.value, publicKey)',
    is: 'JSON.stringify(receipt), signature.value, signature.public_key)',
    killed_by: 'server/engine/privacy/retention/proofs.test.ts',
  },
  {
    name: 'a receipt of fewer rows than were read proves all of them delivered',
    path: 'server/engine/privacy/retention/proofs.ts',
    was: 'if (receipt === undefined || receipt.records !== receipt.source_records) return false;',
    is: 'if (receipt === undefined) return false;',
    killed_by: 'server/engine/privacy/retention/proofs.test.ts',
  },
  {
    name: 'verify finds nothing wrong with a delivery in doubt',
    path: 'server/cli/verify/verify.ts',
    was: 'return differences.length === 0 && fault === null && held.length === 0;',
    is: 'return differences.length === 0 && fault === null;',
    killed_by: 'server/cli/verify/held_deliveries.test.ts',
  },
  {
    name: 'verify passes over a receipt that was changed',
    path: 'server/engine/exports/verification/compare.ts',
    was: '      comparison.differences.push(unsignedReceipt(run));\n',
    is: '',
    killed_by: 'server/cli/verify/verify.test.ts',
  },
];
