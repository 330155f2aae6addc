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

const chore = (name: string, interval_ms: number, work: Chore['work']): Chore => ({
  name,
  interval_ms,
  work,
});

/**
 * Lists the chores of an API process, one line each. Tests run the work directly, with a clock of
 * their own.
 */
export function choresOf(deps: Deps): Chore[] {
  return [
    chore('look-ups of domains', 15_000, (signal) => recheckDomains(deps, { signal })),
    chore('writing of security events', 1_000, () => deps.security_log.flush()),
    ...warningsOf(deps),
    ...looksOf(deps),
    chore('work on bulk actions', 1_000, (signal) => workBulkActions(deps, signal)),
    chore('sending of notices', 2_000, (signal) =>
      sendDueNotices({ ...deps, public_url: deps.config.public_url }, { signal }),
    ),
    chore('check of the activity log', 600_000, (signal) => checkChains(deps, signal)),
    chore('check of free disk space', 2_000, () => deps.disk.look()),
    chore('background migrations of the analytics store', 2_000, (signal) =>
      workBackgroundMigrations(deps, signal),
    ),
    chore('sending of mails', 2_000, (signal) => deps.outbox.sendDue(signal)),
    chore('maintenance of Iceberg and Delta tables', 10_000, (signal) =>
      maintainLake(deps.engine, signal),
    ),
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
    chore('warnings before certificates expire', 3_600_000, (signal) =>
      warnOfCertificates(deps, signal),
    ),
    chore('warnings before API keys expire', 600_000, (signal) => warnOfExpiringKeys(deps, signal)),
    chore('warnings before service keys expire', 600_000, (signal) =>
      warnOfServiceKeys(deps, signal),
    ),
    chore('warnings before tokens of directories expire', 3_600_000, (signal) =>
      warnOfTokens(deps, signal),
    ),
    chore('end of the tokens whose creator is no longer an owner', 15_000, (signal) =>
      endTokens(deps, signal),
    ),
  ];
}

/** Lists the chores that assess the state of exports. */
function looksOf(deps: Deps): Chore[] {
  return [
    chore('check for late exports', 30_000, () =>
      judgeFreshness({ ...deps, settle_seconds: deps.config.settle_seconds }),
    ),
    chore('measurement of late planning, states of exports, and verification', 10_000, () =>
      Promise.all([noteExports, planLooks, noteVerified].map((it) => it(deps.engine))),
    ),
  ];
}

/** Lists chores that remove data on request, with a certificate. */
function erasuresOf(deps: Deps): Chore[] {
  return [
    chore('work on erasures', 1_000, (signal) => workErasures(deps.engine, signal)),
    chore('removal of the rows of deleted projects', 30_000, (signal) =>
      removeProjects(deps, signal, 60_000),
    ),
    chore('removal of deleted exports and their history', 10_000, (signal) =>
      sweepDeleted(deps, signal),
    ),
    chore('certificates of deleted users and organizations', 10_000, () => certifyDeletions(deps)),
    chore('removal of the notes of erasures whose projects were deleted', 60_000, (signal) =>
      sweepNotes(deps.engine, signal),
    ),
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
    chore('counting of events for their catalogue', 5_000, (signal) => countEvents(deps, signal)),
    chore('removal of old daily counts of the event catalogue', 3_600_000, () =>
      sweepDays(deps.db, deps.clock.now()),
    ),
  ];
}

/** Lists the chores of downloads. */
function downloadsOf(deps: Deps): Chore[] {
  return [
    chore('counting of downloads', 1_000, (signal) => countDownloads(deps.engine, signal)),
    chore('removal of downloads that have expired', 60_000, () => sweepDownloads(deps.db)),
  ];
}

/** Lists the chores that delete expired ways to sign in. */
function signInsOf(deps: Deps): Chore[] {
  return [
    chore('removal of setup links that have expired', 3_600_000, () =>
      sweepSetupLinks(deps.db, deps.clock.now()),
    ),
    chore('removal of sign-ins that have expired', 600_000, () => sweepSingleSignOn(deps)),
    chore('removal of grants of assistants that have ended', 60_000, () =>
      sweepGrants(deps.db, deps.clock.now()),
    ),
    chore('removal of sessions, links and series of attempts that have ended', 600_000, () =>
      sweepPeople(deps),
    ),
  ];
}

/** Lists the chores that delete data after its retention time. */
function removalsOf(deps: Deps): Chore[] {
  return [
    chore('removal of old bulk actions', 3_600_000, (signal) => sweepBulkActions(deps, signal)),
    chore('removal of old security events', 600_000, (signal) =>
      sweepSecurityEvents(deps.db, deps.clock.now(), signal),
    ),
    chore('removal of plans that have expired', 600_000, () =>
      sweepPlans(deps.db, isoInstant(deps.clock.now())),
    ),
    chore('removal of old mails', 3_600_000, (signal) => sweepMails(deps, signal)),
    chore('removal of old notices', 3_600_000, (signal) => sweepNotices(deps, signal)),
    chore('removal of rows beyond the retention of projects', 60_000, (signal) =>
      retainRows(deps, signal),
    ),
    chore('removal of the old history of exports', 600_000, (signal) => sweepExports(deps, signal)),
    chore('removal of old ingestion warnings and refused events', 3_600_000, () =>
      sweepWarned(deps),
    ),
    chore('removal of old answers of the Iceberg catalog', 600_000, () =>
      sweepAnswers(deps.db, deps.clock.now()),
    ),
    chore('removal of the salts of past days', 600_000, () =>
      sweepVisitorSalts(deps.db, deps.clock.now()),
    ),
  ];
}
