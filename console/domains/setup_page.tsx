import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import type { SetupState } from '../../server/api/domains/setup_links/schema.ts';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { PlainPage } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Refusal, Waiting } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { MetadataImport, ProviderGuide } from './metadata_import.tsx';
import type { Imported } from './metadata_import.tsx';
import { ProofState, RecordToAdd } from './proof_parts.tsx';
import { ProviderFieldsInputs } from './provider_fields.tsx';
import { setupOf } from './setup.ts';
import { StartedTest } from './started_test.tsx';
import type { Started } from './started_test.tsx';

/** The page behind a setup link: the record, the provider and a test of one domain. */
export function SetupPage() {
  const token = useLocation({ select: ({ hash }) => hash });
  const { data, error } = useQuery(setupOf(token));
  if (data !== undefined) return <Setup key={token} state={data} token={token} />;
  if (error?.status === 404 || error?.status === 400) return <NotOpen />;
  return (
    <PlainPage title="Set up single sign-on">
      {error === null ? <Waiting /> : <Refusal problem={error} />}
    </PlainPage>
  );
}

function NotOpen() {
  return (
    <PlainPage title="This link is not open">
      <p>
        It has expired, was revoked, or is incomplete. Ask the person who sent it for a new one.
      </p>
    </PlainPage>
  );
}

type Given = { state: SetupState; token: string };

function Setup({ state, token }: Given) {
  const { domain, organization_name, name, expires_at, is_verified } = state;
  const given = { state, token };
  return (
    <PlainPage title={`Set up single sign-on for ${domain}`} is_wide>
      <p>
        <bdi>{organization_name}</bdi> asks you, <bdi>{name}</bdi>, to connect your identity
        provider to Sluice. You need no account. An owner sees what you enter here and puts it into
        effect.
      </p>
      <p className="muted">
        This link works until <Instant at={expires_at} is_exact />.
      </p>
      <Section title="1. Add the record to your DNS">
        <RecordToAdd {...state} />
      </Section>
      <Section title="2. Check the record">
        <ProofState verification={state.verification} />
        <CheckNow {...given} />
      </Section>
      <Section title="3. Enter your identity provider">
        <Provider {...given} />
      </Section>
      <Section title="4. Test the sign-in">
        {is_verified && state.has_saml ? (
          <Test token={token} />
        ) : (
          <p className="muted">
            It can begin once the domain is verified and the provider is saved.
          </p>
        )}
      </Section>
      <Section title="5. Tell the owner">
        <p>
          An owner of <bdi>{organization_name}</bdi> confirms the provider, and decides who must
          sign in through it. If you want to connect a directory (SCIM) as well, ask the owner for
          its address and token.
        </p>
      </Section>
    </PlainPage>
  );
}

/** Adopts the state from an answer. */
function useAnswered(token: string): (state: SetupState) => void {
  const queries = useQueryClient();
  return (state) => void queries.setQueryData(setupOf(token).queryKey, state);
}

function CheckNow({ token }: Given) {
  const answered = useAnswered(token);
  return (
    <Form
      path={pathTo('/api/setup_links/verify/')}
      body={() => ({ token })}
      done={answered}
      button="Check now"
      tone="plain"
    />
  );
}

function Provider({ state, token }: Given) {
  const { is_waiting, has_saml, service_metadata_url, service_entity_id, service_acs_url } = state;
  const [imported, setImported] = useState<Imported>();
  const answered = useAnswered(token);
  const own = {
    metadata: service_metadata_url,
    entity_id: service_entity_id,
    acs_url: service_acs_url,
  };
  return (
    <>
      {has_saml && (
        <p className={is_waiting ? 'warn' : 'good'} role="status">
          {is_waiting ? 'Saved. An owner has to confirm it.' : 'In effect'}
        </p>
      )}
      <h3>At your provider</h3>
      <ProviderGuide own={own} />
      <h3>Here</h3>
      <MetadataImport by={{ token }} imported={setImported} />
      {imported !== undefined && (
        <p role="status" className="good">
          The fields are filled in. Save the provider.
        </p>
      )}
      <Form
        key={JSON.stringify(imported)}
        path={pathTo('/api/setup_links/provider/')}
        body={({ saml_entity_id, saml_acs_url, saml_x509_cert }) => ({
          token,
          saml_entity_id,
          saml_acs_url,
          saml_x509_cert,
        })}
        done={(after) => {
          setImported(undefined);
          answered(after);
        }}
        button="Save the provider"
        part={null}
      >
        <ProviderFieldsInputs textOf={(field) => imported?.[field] ?? state[field] ?? ''} />
      </Form>
    </>
  );
}

function Test({ token }: { token: string }) {
  const [test, setTest] = useState<Started>();
  return (
    <>
      <StartedTest test={test} />
      <Form
        path={pathTo('/api/setup_links/test_sign_in/')}
        body={() => ({ token })}
        done={setTest}
        button="Start test"
        tone="plain"
      />
    </>
  );
}
