// Length: the list of all chores, and nothing else.
import type { Deps } from '../deps.ts';
import { certifyDeletions } from '../engine/model/removals/certify_deletions.ts';
import { sweepAnswers } from '../engine/model/lake_catalog/answers.ts';
import { removeProjects } from '../engine/model/removals/remove_projects.ts';
import { sweepNotes } from '../engine/privacy/erasures/certify.ts';
import { workErasures } from '../engine/privacy/erasures/work.ts';
import { judgeFreshness } from '../engine/exports/health/freshness.ts';
import { noteExports } from '../engine/exports/workers/note_exports.ts';
import { sendDueNotices } from '../engine/notices/send.ts';
import { countEvents } from '../engine/ingest/catalogue/count_events.ts';
import { sweepDays } from '../engine/ingest/catalogue/store.ts';
import { sweepRuleCounts } from '../engine/ingest/rules/rule_counts.ts';
import { sweepRefusedEvents } from '../engine/ingest/warnings/refused_event_store.ts';
import { sweepWarnings } from '../engine/ingest/warnings/store.ts';
import { sweepNotices } from '../engine/notices/sweep.ts';
import { retainRows } from '../engine/privacy/retention/look.ts';
import { maintainLake } from '../engine/exports/lake_maintenance/delta/delta_work.ts';
import { sweepDeleted, sweepHistory } from '../engine/exports/runs/sweep_history.ts';
import { noteVerified, planLooks } from '../engine/exports/verification/watches.ts';
import { sweepVerifications } from '../engine/exports/verification/sweep.ts';
import { workBackgroundMigrations } from '../platform/background_migrations/work.ts';
import { checkChains } from '../platform/activity/check.ts';
import { isoInstant } from '../platform/clock.ts';
import { sweepSecurityEvents } from '../platform/http/security_log/store.ts';
import type { Chore } from '../platform/pacing/chores.ts';
import { sweepMails } from '../platform/mail/sweep_mails.ts';
import { sweepGrants } from './api_keys/agents/store.ts';
import { warnOfExpiringKeys } from './api_keys/expiry_warnings.ts';
import { sweepBulkActions } from './batch_exports/bulk_actions/sweep.ts';
import { workBulkActions } from './batch_exports/bulk_actions/work.ts';
import { sweepVisitorSalts } from './capture/visitor_salts.ts';
import { sweepPlans } from './configuration/store.ts';
import { warnOfCertificates } from './domains/certificate_warnings.ts';
import { recheckDomains } from './domains/proof/recheck.ts';
import { sweepSetupLinks } from './domains/setup_links/store.ts';
import { countDownloads } from './file_downloads/read.ts';
import { sweepDownloads } from './file_downloads/store.ts';
import { endTokens, warnOfTokens } from './scim/tokens/chores.ts';
import { warnOfServiceKeys } from './service_keys/expiry_warnings.ts';
import { sweepPeople } from './users/sweep.ts';
import { sweepSingleSignOn } from './single_sign_on/sweep.ts';

/**
 * Lists the chores of an API process, one line each. Tests run the work directly, with a clock of
 * their own.
 */
export function choresOf(deps: Deps): Chore[] {
  return [
    {
      name: 'look-ups of domains',
      interval_ms: 15_000,
      work: (signal) => recheckDomains(deps, { signal }),
    },
    {
      name: 'writing of security events',
      interval_ms: 1_000,
      work: () => deps.security_log.flush(),
    },
    ...warningsOf(deps),
    ...looksOf(deps),
    {
      name: 'work on bulk actions',
      interval_ms: 1_000,
      work: (signal) => workBulkActions(deps, signal),
    },
    {
      name: 'sending of notices',
      interval_ms: 2_000,
      work: (signal) => sendDueNotices({ ...deps, public_url: deps.config.public_url }, { signal }),
    },
    {
      name: 'check of the activity log',
      interval_ms: 600_000,
      work: (signal) => checkChains(deps, signal),
    },
    {
      name: 'check of free disk space',
      interval_ms: 2_000,
      work: () => deps.disk.look(),
    },
    {
      name: 'background migrations of the analytics store',
      interval_ms: 2_000,
      work: (signal) => workBackgroundMigrations(deps, signal),
    },
    {
      name: 'sending of mails',
      interval_ms: 2_000,
      work: (signal) => deps.outbox.sendDue(signal),
    },
    {
      name: 'maintenance of Iceberg and Delta tables',
      interval_ms: 10_000,
      work: (signal) => maintainLake(deps.engine, signal),
    },
    ...catalogueOf(deps),
    ...downloadsOf(deps),
    ...erasuresOf(deps),
    ...removalsOf(deps),
    ...signInsOf(deps),
  ];
}

/** Lists the chores that warn people before an expiry, or at it. */
function warningsOf(deps: Deps): Chore[] {
  return [
    {
      name: 'warnings before certificates expire',
      interval_ms: 3_600_000,
      work: (signal) => warnOfCertificates(deps, signal),
    },
    {
      name: 'warnings before API keys expire',
      interval_ms: 600_000,
      work: (signal) => warnOfExpiringKeys(deps, signal),
    },
    {
      name: 'warnings before service keys expire',
      interval_ms: 600_000,
      work: (signal) => warnOfServiceKeys(deps, signal),
    },
    {
      name: 'warnings before tokens of directories expire',
      interval_ms: 3_600_000,
      work: (signal) => warnOfTokens(deps, signal),
    },
    {
      name: 'end of the tokens whose creator is no longer an owner',
      interval_ms: 15_000,
      work: (signal) => endTokens(deps, signal),
    },
  ];
}

/** Lists the chores that assess the state of exports. */
function looksOf(deps: Deps): Chore[] {
  return [
    {
      name: 'check for late exports',
      interval_ms: 30_000,
      work: () => judgeFreshness({ ...deps, settle_seconds: deps.config.settle_seconds }),
    },
    {
      name: 'measurement of late planning, states of exports, and verification',
      interval_ms: 10_000,
      work: () => Promise.all([noteExports, planLooks, noteVerified].map((it) => it(deps.engine))),
    },
  ];
}

/** Lists chores that remove data on request, with a certificate. */
function erasuresOf(deps: Deps): Chore[] {
  return [
    {
      name: 'work on erasures',
      interval_ms: 1_000,
      work: (signal) => workErasures(deps.engine, signal),
    },
    {
      name: 'removal of the rows of deleted projects',
      interval_ms: 30_000,
      work: (signal) => removeProjects(deps, signal, 60_000),
    },
    {
      name: 'removal of deleted exports and their history',
      interval_ms: 10_000,
      work: (signal) => sweepDeleted(deps, signal),
    },
    {
      name: 'certificates of deleted users and organizations',
      interval_ms: 10_000,
      work: () => certifyDeletions(deps),
    },
    {
      name: 'removal of the notes of erasures whose projects were deleted',
      interval_ms: 60_000,
      work: (signal) => sweepNotes(deps.engine, signal),
    },
  ];
}

async function sweepExports(deps: Deps, signal: AbortSignal | undefined): Promise<void> {
  await sweepHistory(deps, signal);
  await sweepVerifications(deps, signal);
}

async function sweepWarned({ db, clock, config }: Deps): Promise<void> {
  await sweepWarnings(db, clock.now());
  await sweepRuleCounts(db, clock.now());
  await sweepRefusedEvents(db, config.refused_events_days, clock.now());
}

/** Lists the chores of the event catalogue. */
function catalogueOf(deps: Deps): Chore[] {
  return [
    {
      name: 'counting of events for their catalogue',
      interval_ms: 5_000,
      work: (signal) => countEvents(deps, signal),
    },
    {
      name: 'removal of old daily counts of the event catalogue',
      interval_ms: 3_600_000,
      work: () => sweepDays(deps.db, deps.clock.now()),
    },
  ];
}

/** Lists the chores of downloads. */
function downloadsOf(deps: Deps): Chore[] {
  return [
    {
      name: 'counting of downloads',
      interval_ms: 1_000,
      work: (signal) => countDownloads(deps.engine, signal),
    },
    {
      name: 'removal of downloads that have expired',
      interval_ms: 60_000,
      work: () => sweepDownloads(deps.db),
    },
  ];
}

/** Lists the chores that delete expired ways to sign in. */
function signInsOf(deps: Deps): Chore[] {
  return [
    {
      name: 'removal of setup links that have expired',
      interval_ms: 3_600_000,
      work: () => sweepSetupLinks(deps.db, deps.clock.now()),
    },
    {
      name: 'removal of sign-ins that have expired',
      interval_ms: 600_000,
      work: () => sweepSingleSignOn(deps),
    },
    {
      name: 'removal of grants of assistants that have ended',
      interval_ms: 60_000,
      work: () => sweepGrants(deps.db, deps.clock.now()),
    },
    {
      name: 'removal of sessions, links and series of attempts that have ended',
      interval_ms: 600_000,
      work: () => sweepPeople(deps),
    },
  ];
}

/** Lists the chores that delete data after its retention time. */
function removalsOf(deps: Deps): Chore[] {
  return [
    {
      name: 'removal of old bulk actions',
      interval_ms: 3_600_000,
      work: (signal) => sweepBulkActions(deps, signal),
    },
    {
      name: 'removal of old security events',
      interval_ms: 600_000,
      work: (signal) => sweepSecurityEvents(deps.db, deps.clock.now(), signal),
    },
    {
      name: 'removal of plans that have expired',
      interval_ms: 600_000,
      work: () => sweepPlans(deps.db, isoInstant(deps.clock.now())),
    },
    {
      name: 'removal of old mails',
      interval_ms: 3_600_000,
      work: (signal) => sweepMails(deps, signal),
    },
    {
      name: 'removal of old notices',
      interval_ms: 3_600_000,
      work: (signal) => sweepNotices(deps, signal),
    },
    {
      name: 'removal of rows beyond the retention of projects',
      interval_ms: 60_000,
      work: (signal) => retainRows(deps, signal),
    },
    {
      name: 'removal of the old history of exports',
      interval_ms: 600_000,
      work: (signal) => sweepExports(deps, signal),
    },
    {
      name: 'removal of old ingestion warnings and refused events',
      interval_ms: 3_600_000,
      work: () => sweepWarned(deps),
    },
    {
      name: 'removal of old answers of the Iceberg catalog',
      interval_ms: 600_000,
      work: () => sweepAnswers(deps.db, deps.clock.now()),
    },
    {
      name: 'removal of the salts of past days',
      interval_ms: 600_000,
      work: () => sweepVisitorSalts(deps.db, deps.clock.now()),
    },
  ];
}
