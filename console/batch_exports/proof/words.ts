import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { Deviation } from '../../../server/api/batch_exports/deviations/schema.ts';
import type { Proof, ProofCounts } from '../../../server/api/batch_exports/proof/schema.ts';
import type {
  Verification,
  VerificationFinding,
} from '../../../server/api/batch_exports/verifications/schema.ts';
import { counted } from '../../page/text/quantities.ts';

const number = (rows: number) => rows.toLocaleString('en');

/**
 * Returns the page's main sentence, by the ledger alone: rows stored, and rows delivered if that
 * can be determined. It says nothing about what the destination has now.
 */
export function provenInWords({ stored, delivered, delivered_twice }: ProofCounts): string {
  if (delivered === null) return `${counted(stored, 'row')} stored.`;
  const again = delivered_twice ?? 0;
  return (
    `${counted(stored, 'row')} stored, ${number(delivered)} delivered.` +
    (again === 0 ? '' : ` You had ${number(again)} delivered again.`)
  );
}

/** Returns how many rows or files differ, by kind; empty unless all open findings are listed. */
function openInWords(
  found: readonly Pick<Deviation, 'kind' | 'state' | 'differences'>[],
  deviations: number,
): string {
  const open = found.filter(({ state }) => state === 'open');
  if (open.length !== deviations) return '';
  const kinds = [...Map.groupBy(open, ({ kind }) => kind)].map(([kind, of_kind]) => {
    const differences = of_kind.reduce((sum, one) => sum + one.differences, 0);
    return `${number(differences)} ${kindInWords(kind).toLowerCase()}`;
  });
  return `: ${kinds.join(', ')}`;
}

/**
 * Returns what was last found at the destination: until when everything is as delivered, as the API
 * says, and the open findings. `latest` is a person's latest complete verification; `at` formats an
 * instant.
 */
export function throughInWords(
  through: string | null,
  latest: Pick<Verification, 'is_unproven' | 'created_at'> | undefined,
  verification: Pick<
    NonNullable<BatchExport['verification']>,
    'state' | 'deviations' | 'accepted' | 'verified_at' | 'cycle_ended_at'
  > | null,
  found: Parameters<typeof openInWords>[0],
  at: (instant: string) => string,
): { text: string; tone: string } {
  const { state, deviations = 0, accepted = 0 } = verification ?? {};
  if (state === 'not_verifiable')
    return { text: 'This destination cannot be verified.', tone: 'muted' };
  const open =
    deviations === 0
      ? ''
      : `${counted(deviations, 'finding')} below ${deviations === 1 ? 'is' : 'are'} open` +
        `${openInWords(found, deviations)}.`;
  const until = through === null ? '' : `Verified through ${at(through)}`;
  if (state === 'standing_still') {
    const stopped = 'Verification has stopped: the findings below say why.';
    return {
      text: [until && `${until}.`, open, stopped].filter((one) => one !== '').join(' '),
      tone: deviations > 0 ? 'bad' : 'warn',
    };
  }
  if (deviations > 0) return { text: `${until && `${until}. `}${open}`, tone: 'bad' };
  if (through !== null)
    return {
      text:
        accepted === 0
          ? `${until}: nothing is missing, changed or doubled.`
          : `${until}, except for ${counted(accepted, 'accepted finding')}.`,
      tone: 'good',
    };
  const verified_at = latest?.created_at ?? verification?.verified_at ?? null;
  if (verified_at === null) return { text: 'Not verified yet.', tone: 'muted' };
  if (latest?.is_unproven === true)
    return { text: 'A part could not be compared: the notes below say why.', tone: 'warn' };
  const reached = latest?.created_at ?? verification?.cycle_ended_at ?? null;
  return {
    text:
      (reached === null
        ? `No differences until ${at(verified_at)}, but not every delivery is checked yet.`
        : `Everything delivered before ${at(verified_at)} is verified.`) +
      ' No interval of the schedule is verified yet.',
    tone: reached === null ? 'muted' : 'good',
  };
}

/** Returns the progress of scheduled checks of all deliveries, and why they are rare. */
function cycleInWords(
  {
    cycle_started_at: started,
    cycle_ended_at: ended,
    asks,
  }: NonNullable<BatchExport['verification']>,
  at: (instant: string) => string,
): string {
  const last = ended === null ? '' : ` The last check of all deliveries ended at ${at(ended)}.`;
  const is_open = started !== null && (ended === null || Date.parse(started) > Date.parse(ended));
  const open = is_open ? ` A check of all deliveries began at ${at(started)}.` : '';
  const seldom =
    asks === 'contents'
      ? ' Each check reads all rows, so checks are rare. Verify now to check sooner.'
      : '';
  return last + open + seldom;
}

/** Returns the state of scheduled verification, in sentences; `at` formats an instant. */
export function scheduleInWords(
  verification: BatchExport['verification'],
  at: (instant: string) => string,
): { text: string; tone: string } {
  if (verification === null || verification.state === 'waiting')
    return {
      text: 'Sluice checks the destination soon after the first delivery.',
      tone: 'muted',
    };
  const { state, reason, verified_at, deviations, accepted } = verification;
  if (state === 'not_verifiable') return { text: `Not verifiable. ${reason ?? ''}`, tone: 'muted' };
  const cycle = cycleInWords(verification, at);
  const agreed = accepted === 0 ? '' : ` ${counted(accepted, 'finding')} accepted.`;
  if (state === 'standing_still')
    return {
      text: `Stopped${verified_at === null ? '' : ` after ${at(verified_at)}`}: ${reason}`,
      tone: 'warn',
    };
  if (state === 'differing')
    return { text: `${counted(deviations, 'open finding')}.${agreed}${cycle}`, tone: 'bad' };
  const when = verified_at === null ? '' : `, at ${at(verified_at)},`;
  const text = `The latest look${when} found what it read as delivered.${agreed}${cycle}`;
  return { text, tone: 'good' };
}

/**
 * Counts rows that are not simply delivered; empty if all are. `earlier` of them were ingested
 * before the export began: only a backfill delivers them.
 */
export function restInWords(
  totals: Proof['totals'],
  earlier: number,
): { name: string; rows: number; tone: string }[] {
  const rest: [string, number | null, string][] = [
    ['Left out by the filter', totals.left_out, ''],
    ['Set aside', totals.set_aside, 'warn'],
    ['In progress', totals.in_progress, ''],
    ['Waiting for the schedule', totals.waiting, ''],
    [before_export, earlier, ''],
    ['Not delivered', (totals.not_delivered ?? 0) - earlier, 'bad'],
    ['Erased since', totals.erased, ''],
  ];
  return rest.flatMap(([name, rows, tone]) =>
    rows === null || rows === 0 ? [] : [{ name, rows, tone }],
  );
}

/** The name of rows ingested before the export began. */
export const before_export = 'From before this export';

/** Returns the finished share of a verification, from 0 to 100. */
export function doneOf({ progress, finished_at }: Verification): number {
  const { deliveries, deliveries_checked, records, records_checked } = progress;
  if (finished_at !== null) return 100;
  if (deliveries === null || deliveries === 0) return 0;
  const share =
    records === null || records === 0 ? deliveries_checked / deliveries : records_checked / records;
  return Math.min(100, share * 100);
}

/** Returns a state of a verification: its word and its tone; some places have `only_receipts`. */
export function stateOf(one: Verification, only_receipts = false): { word: string; tone: string } {
  const { status, differences, is_unproven } = one;
  if (status === 'Starting') return { word: 'Waiting', tone: '' };
  if (status === 'Running') return { word: 'In progress', tone: '' };
  if (status === 'Cancelled') return { word: 'Cancelled', tone: 'warn' };
  if (status === 'Failed') return { word: 'Failed', tone: 'bad' };
  if (differences > 0) return { word: counted(differences, 'difference'), tone: 'bad' };
  if (only_receipts) return { word: 'Receipts checked', tone: '' };
  return is_unproven
    ? { word: 'Partly verified', tone: 'warn' }
    : { word: 'As delivered', tone: 'good' };
}

const kinds: Record<VerificationFinding['kind'], string> = {
  missing: 'Missing',
  doubled: 'Doubled',
  changed: 'Changed',
  foreign: 'Foreign',
  receipt: 'Receipt',
  unreadable: 'Unreadable',
  uncertain: 'Uncertain',
};

/** Returns the word for a kind of finding. */
export function kindInWords(kind: VerificationFinding['kind']): string {
  return kinds[kind];
}

const repairs: Record<NonNullable<VerificationFinding['repair']>['action'], string> = {
  rewrite: 'Repair delivery',
  deliver_again: 'Deliver interval again',
  retry: 'Retry run',
};

/** Returns the button label of a repair. */
export function repairInWords(
  action: NonNullable<VerificationFinding['repair']>['action'],
): string {
  return repairs[action];
}

/** Findings of one delivery, or of none, in the order of the findings. */
export type Group = { delivery: VerificationFinding['delivery']; findings: VerificationFinding[] };

/** Groups findings by delivery, because a delivery is repaired as a whole. */
export function groupsOf(findings: readonly VerificationFinding[]): Group[] {
  const groups = new Map<string | undefined, Group>();
  for (const finding of findings) {
    const group = groups.get(finding.delivery?.id) ?? { delivery: finding.delivery, findings: [] };
    group.findings.push(finding);
    groups.set(finding.delivery?.id, group);
  }
  return [...groups.values()];
}
