import type { Fault } from './fault.ts';
import { ledger_faults } from './ledger.ts';
import { planning_faults } from './planning.ts';
import { runs_faults } from './runs.ts';
import { receipts_faults } from './receipts.ts';
import { ingestion_faults } from './ingestion.ts';
import { privacy_faults } from './privacy.ts';
import { access_faults } from './access.ts';

/** All planted faults, by their subject. */
export const faults: Fault[] = [
  ...ledger_faults,
  ...planning_faults,
  ...runs_faults,
  ...receipts_faults,
  ...ingestion_faults,
  ...privacy_faults,
  ...access_faults,
];
