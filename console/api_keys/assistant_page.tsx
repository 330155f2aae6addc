import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Static } from 'typebox';
import type { AgentPreview } from '../../server/api/api_keys/schema.ts';
import { ChoiceField, ChoicesField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { PlainPage } from '../page/page.tsx';
import { Seldom } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { account } from '../signed_in/account.ts';
import { inDays } from '../time/now.ts';
import { agentPreview } from './agents.ts';
import type { AgentAsked } from './agents.ts';
import { PlaceFields } from './place_fields.tsx';
import { choicesInWords } from './scope_names.ts';

const route = getRouteApi('/authorize');

type Preview = Static<typeof AgentPreview>;

/** The page that an assistant opens in a person's browser to ask for access. */
export function AssistantPage() {
  const asked = route.useSearch();
  const query = useQuery(agentPreview(asked));
  return (
    <PlainPage title="Let an assistant in">
      <Shown query={query}>
        {(preview) => (
          <>
            <Who preview={preview} />
            {preview.fault === null ? (
              <Grant asked={asked} preview={preview} />
            ) : (
              <Alert color="red" title="This sign-in cannot continue" role="alert">
                <p>{preview.fault}</p>
                <Leave preview={preview} text="Go back to the assistant" />
              </Alert>
            )}
          </>
        )}
      </Shown>
    </PlainPage>
  );
}

/** Says who asks, as far as that is known, and where the browser goes afterwards. */
function Who({ preview: { name, client_host, returns_to, is_local } }: { preview: Preview }) {
  const own = useQuery(account).data;
  return (
    <>
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        asks to use Sluice in your name
        {own !== undefined && (
          <>
            {' '}
            (<bdi>{own.email}</bdi>)
          </>
        )}
        . It can never do more than you.
      </p>
      <p>
        {client_host === null ? (
          'It chose this name itself, and Sluice cannot check it.'
        ) : (
          <>
            The name comes from <strong>{client_host}</strong>. Sluice has checked nothing else.
          </>
        )}{' '}
        Afterwards the browser goes to <strong>{returns_to}</strong>
        {is_local && ', a program on your computer'}. Continue only if you have just started to
        connect it.
      </p>
    </>
  );
}

function Grant({ asked, preview }: { asked: AgentAsked; preview: Preview }) {
  return (
    <Form
      path={pathTo('/api/personal_api_keys/agents/')}
      body={({ scopes, expires_at, scoped_organizations = [], scoped_teams = [] }) => ({
        ...asked,
        scopes,
        scoped_organizations: [scoped_organizations].flat(),
        scoped_teams: [scoped_teams].flat().map(Number),
        expires_at: inDays(expires_at),
      })}
      done={({ redirect_url }) => {
        if (redirect_url !== undefined) location.assign(redirect_url);
      }}
      button="Allow access"
      beside={<Leave preview={preview} text="Refuse access" />}
      part={null}
    >
      <ChoicesField
        name="scopes"
        label="It may"
        one="right"
        options={choicesInWords(preview.scopes)}
        chosen={preview.scopes}
      />
      <ChoiceField
        name="expires_at"
        label="How long it works"
        value="30"
        options={[
          { value: '1', label: 'a day' },
          { value: '30', label: '30 days' },
          { value: '90', label: '90 days' },
          { value: '365', label: 'a year' },
        ]}
      />
      <Seldom summary="Limit it to organizations or projects">
        <PlaceFields />
      </Seldom>
    </Form>
  );
}

/** A link back without a grant. */
function Leave({ preview, text }: { preview: Preview; text: string }) {
  return <Button onClick={() => location.assign(preview.refusal_url)}>{text}</Button>;
}
