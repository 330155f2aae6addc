import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { invalidMany } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { isAtOnce } from './anchors.ts';
import { checkDomainName } from './domain_name.ts';
import { isUnset, refuseCertificates, refuseSignOnUrl, saml_fields } from './saml_fields.ts';
import { DomainCreate, DomainPatch } from './schema.ts';
import type { DomainChanges, DomainRow } from './schema.ts';

type Fault = Omit<Violation, 'attr'>;
type Rules = Record<string, (text: string) => Fault | undefined>;
type Settings = Pick<
  DomainRow,
  | 'domain'
  | 'is_verified'
  | 'jit_provisioning_enabled'
  | 'sso_enforcement'
  | (typeof saml_fields)[number]
>;

const unset: Settings = {
  domain: '',
  is_verified: false,
  jit_provisioning_enabled: false,
  sso_enforcement: '',
  saml_entity_id: null,
  saml_acs_url: null,
  saml_x509_cert: null,
};

/**
 * Returns the checked body of a new domain, with the name in its stored form. `choices` are the
 * values of `sso_enforcement`. Throws a 400 that lists every violation.
 */
export function readNewDomain(
  request: FastifyRequest,
  choices: string[],
): { domain: string } & DomainChanges {
  const { domain: typed, ...changes } = wholeBody(request, DomainCreate, {
    ...rulesOf(choices),
    domain: (text) => faultOf(checkDomainName(text)),
  });
  requireSense(unset, changes);
  return { domain: nameOf(typed), ...changes };
}

/**
 * Returns the checked changes of a domain; the name is only included if it changes. Throws one 400
 * that lists every violation of the body, or else of the combined fields.
 */
export function readDomainChanges(
  request: FastifyRequest,
  before: DomainRow,
  choices: string[],
): DomainChanges {
  const isAsBefore = (text: string) => text.toLowerCase().replace(/\.$/, '') === before.domain;
  const { domain: typed, ...settings } = wholeBody(request, DomainPatch, {
    ...rulesOf(choices),
    domain: (text) => (isAsBefore(text) ? undefined : faultOf(checkDomainName(text))),
  });
  // The stored name may be sent back, even if it would be refused now.
  const domain = typed === undefined || isAsBefore(typed) ? before.domain : nameOf(typed);
  const is_renamed = domain !== before.domain || before.pending_changes?.domain !== undefined;
  const changes = is_renamed && typed !== undefined ? { ...settings, domain } : settings;
  requireSense(before, isAtOnce(request) ? changes : { ...before.pending_changes, ...changes });
  return changes;
}

function rulesOf(choices: string[]): Rules {
  const invalidInput = (detail: string | undefined): Fault | undefined =>
    detail === undefined ? undefined : { code: 'invalid_input', detail };
  return {
    sso_enforcement: (text) =>
      choices.includes(text)
        ? undefined
        : {
            code: 'invalid_choice',
            detail: `Must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}.`,
          },
    saml_acs_url: (text) => (text === '' ? undefined : invalidInput(refuseSignOnUrl(text))),
    saml_x509_cert: (text) => (text === '' ? undefined : invalidInput(refuseCertificates(text))),
  };
}

/**
 * Returns the checked body, including the fields of a provider. Throws a 400 that lists every
 * violation.
 */
export function readSamlBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
): Static<Schema> {
  return wholeBody(request, schema, rulesOf([]));
}

function nameOf(typed: string): string {
  const name = checkDomainName(typed);
  if (!('domain' in name)) throw new Error('A refused domain has passed its check.');
  return name.domain;
}

function faultOf(name: ReturnType<typeof checkDomainName>): Fault | undefined {
  return 'domain' in name ? undefined : name;
}

/**
 * Returns the body, checked by its schema and by the rules of its texts. A field that the schema
 * refuses is not refused twice.
 */
function wholeBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  rules: Rules,
): Static<Schema> {
  // The schema trims texts in place, so the rules see their stored form.
  const { passed, endWith } = beginBody(request, schema);
  const texts = Object.entries(passed).filter(([attr]) => Object.hasOwn(rules, attr));
  return endWith(
    texts.flatMap(([attr, text]) => {
      const fault = typeof text === 'string' ? rules[attr]!(text) : undefined;
      return fault === undefined ? [] : [{ attr, ...fault }];
    }),
  );
}

/** Throws 400 if the waiting changes are no longer valid together. */
export function requirePendingSense(before: DomainRow): void {
  requireSense(before, before.pending_changes ?? {});
}

/**
 * Refuses settings that need a verified domain, and enforcing SAML without a provider, which would
 * lock everybody out. Switching off and stored values are always accepted, so a record can be sent
 * back unchanged.
 */
function requireSense(before: Settings, changes: DomainChanges): void {
  const detail = 'The domain must be verified first: add its TXT record and start the check.';
  const switched_on = (['jit_provisioning_enabled', 'sso_enforcement'] as const).filter((attr) => {
    const value = changes[attr];
    return value !== undefined && value !== unset[attr] && value !== before[attr];
  });
  const after = { ...before, ...changes };
  const missing =
    after.sso_enforcement === 'saml' ? saml_fields.filter((attr) => isUnset(after[attr])) : [];
  const violations: Violation[] = [
    ...(before.is_verified && after.domain === before.domain
      ? []
      : switched_on.map((attr) => ({ attr, code: 'verification_required' as const, detail }))),
    ...missing.map((attr) => ({
      attr,
      code: 'required' as const,
      detail:
        'Required while people of the domain can only sign in through their provider: ' +
        'without it, nobody could.',
    })),
  ];
  if (violations.length > 0) throw invalidMany(violations);
}
