import type { Bill } from '../bill.ts';

/**
 * Our judgement on a published vulnerability of a package in the bill, in the terms of CycloneDX.
 */
export type Judgement = {
  /** Its id, such as GHSA-xxxx-xxxx-xxxx or CVE-2026-1234. */
  id: string;
  package: string;
  versions: string[];
  state: 'exploitable' | 'in_triage' | 'not_affected' | 'resolved' | 'false_positive';
  justification?: string;
  /** The reason, and what to do; required unless it is still in triage. */
  detail: string;
};

/** A package with a published vulnerability, as `npm audit` reports it. */
export type Advisory = { id: string; package: string };

/** The VEX document of a bill: which of the vulnerabilities affect users. */
export function vexOf(bill: Bill, judgements: Judgement[], at: Date): object {
  const link = `urn:cdx:${bill.serialNumber.slice('urn:uuid:'.length)}/${bill.version}`;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { timestamp: at.toISOString(), component: bill.metadata.component },
    vulnerabilities: judgements.map(({ id, state, justification, detail, ...judged }) => ({
      id,
      source: sourceOf(id),
      analysis: { state, ...(justification === undefined ? {} : { justification }), detail },
      affects: componentsOf(bill, judged).map((ref) => ({ ref: `${link}#${ref}` })),
    })),
  };
}

/** Returns the advisories of `npm audit --json` that no judgement names. */
export function unjudged(audit: unknown, judgements: Judgement[]): Advisory[] {
  const { vulnerabilities } = audit as {
    vulnerabilities: Record<string, { via: (string | { url: string; name: string })[] }>;
  };
  const told = Object.values(vulnerabilities).flatMap(({ via }) =>
    via.flatMap((one) =>
      typeof one === 'string' ? [] : [{ id: one.url.split('/').at(-1)!, package: one.name }],
    ),
  );
  return told.filter(
    ({ id, package: name }, index) =>
      told.findIndex((other) => other.id === id && other.package === name) === index &&
      !judgements.some((one) => one.id === id && one.package === name),
  );
}

/**
 * Returns the references of a judged package; throws if the bill lacks it, so that no judgement is
 * outdated.
 */
function componentsOf(bill: Bill, judged: Pick<Judgement, 'package' | 'versions'>): string[] {
  return judged.versions.map((version) => {
    const found = bill.components.find(
      (one) => one.name === judged.package && one.version === version,
    );
    if (found === undefined)
      throw new Error(
        `docs/security/vex.json judges ${judged.package} ${version}, which no release contains: ` +
          'correct or remove the entry.',
      );
    return found['bom-ref'];
  });
}

function sourceOf(id: string): { name: string; url: string } {
  return id.startsWith('GHSA-')
    ? { name: 'GitHub', url: `https://github.com/advisories/${id}` }
    : { name: 'NVD', url: `https://nvd.nist.gov/vuln/detail/${id}` };
}
