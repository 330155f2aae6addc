import { eventually } from '../../eventually.ts';
import type { DomainRow } from '../../../server/api/domains/schema.ts';
import { openDns } from '../../../server/platform/dns/dns.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openMail } from '../../../server/platform/mail/mail.ts';
import { openDnsServer } from '../../servers/dns_server.ts';
import type { DnsRecord, DnsServer } from '../../servers/dns_server.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';
import { openMailServer } from '../../servers/mail_server.ts';
import type { MailServer, ReceivedMail } from '../../servers/mail_server.ts';

/** A server with the test's name servers and mail relay, and a clock that the test sets. */
export type DomainWorld = {
  harness: Harness;
  /** The resolvers that the server asks, all at once. */
  resolvers: DnsServer[];
  mail: MailServer;
  now(): number;
  /** Sets the time (ms). */
  goTo(instant: number): void;
  /** Claims a domain, by default a new name. */
  claim(home: TestOrganization, domain?: string): Promise<DomainRow>;
  /** Looks it up on request; fails for another status than 200. */
  verify(home: TestOrganization, domain: DomainRow): Promise<DomainRow>;
  /** Publishes its record, and looks it up on request. */
  prove(home: TestOrganization, domain: DomainRow): Promise<DomainRow>;
  /** Returns the current record. */
  read(home: TestOrganization, domain: DomainRow): Promise<DomainRow>;
  change(home: TestOrganization, domain: DomainRow, body: unknown): Promise<Answer>;
  /**
   * Waits for this many mails to the address with the text in their subject, and returns them in
   * order of arrival.
   */
  mailed(address: string, subject: string, count: number): Promise<ReceivedMail[]>;
  close(): Promise<void>;
};

/** The TXT record that proves the domain. */
export function proofOf(domain: DomainRow): DnsRecord {
  return { type: 'TXT', strings: [domain.verification_challenge] };
}

/** The name of that record. */
export function proofNameOf({ domain }: DomainRow): string {
  return `_sluice-challenge.${domain}`;
}

/** The path of an organization's domains, or of one of them. */
export function domainsPath(home: TestOrganization, domain?: DomainRow): string {
  const base = `/api/organizations/${home.organization.id}/domains/`;
  return domain === undefined ? base : `${base}${domain.id}/`;
}

/** Opens the server with this many resolvers. */
export async function openDomainWorld(options: { resolvers?: number } = {}): Promise<DomainWorld> {
  const resolvers = await Promise.all(
    Array.from({ length: options.resolvers ?? 1 }, () => openDnsServer()),
  );
  const relay = await openMailServer();
  let now = Date.parse('2030-01-01T00:00:00Z');
  const clock = { now: () => now };
  const log = silentLog();
  const dns = openDns({
    servers: resolvers.map(({ address }) => address),
    // Shorter than in production, because some of these servers never answer.
    time_limit_ms: 4_000,
    log,
  });
  const mail = openMail({ url: relay.url, from: 'Sluice <sluice@example.com>', log, clock });
  const harness = await openHarness({ clickhouse: false, deps: { clock, dns, mail } });
  let names = 0;
  const send = async (
    status: number,
    method: string,
    path: string,
    { key }: TestOrganization,
    body?: unknown,
  ): Promise<DomainRow> => {
    const answer = await harness.request(method, path, { key, body });
    if (answer.status !== status)
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body as DomainRow;
  };
  const verify = (home: TestOrganization, domain: DomainRow) =>
    send(200, 'POST', `${domainsPath(home, domain)}verify/`, home);
  return {
    harness,
    resolvers,
    mail: relay,
    now: clock.now,
    goTo: (instant) => {
      now = instant;
    },
    claim: (home, domain = `company-${(names += 1)}.test`) =>
      send(201, 'POST', domainsPath(home), home, { domain }),
    verify,
    prove: (home, domain) => {
      resolvers[0]!.set(proofNameOf(domain), { records: [proofOf(domain)] });
      return verify(home, domain);
    },
    read: (home, domain) => send(200, 'GET', domainsPath(home, domain), home),
    change: (home, domain, body) => home.ask('PATCH', domainsPath(home, domain), body),
    mailed: (address, subject, count) => mailed(relay, { address, subject, count }),
    close: async () => {
      await harness.close();
      await relay.close();
      await Promise.all(resolvers.map((resolver) => resolver.close()));
    },
  };
}

async function mailed(
  relay: MailServer,
  { address, subject, count }: { address: string; subject: string; count: number },
): Promise<ReceivedMail[]> {
  return eventually(`${address} has no ${count} mails with "${subject}"`, () => {
    const found = relay.mails.filter(
      ({ to, content }) => to.includes(address) && content.subject?.includes(subject),
    );
    return found.length >= count && found;
  });
}
