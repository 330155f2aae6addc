import { useQuery } from '@tanstack/react-query';
import type { PluginOauth } from '../../../server/api/plugin_configs/oauth/schema.ts';
import { SecretField, TextField } from '../../form/fields.tsx';
import { Form } from '../../form/form.tsx';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';
import { Command } from '../../page/command.tsx';
import { Section, Seldom, useDone } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant } from '../../time/instant.tsx';
import { pluginConfigOf } from '../plugins.ts';
import type { Place } from '../plugins.ts';
import { connectionState } from './oauth_state.ts';

type Given = { place: Place; config_id: number; may_change: boolean };
type Known = Given & { oauth: PluginOauth };

const of = '/api/projects/:project_id/plugin_configs/:id/oauth/';
const applications = '/api/organizations/:organization_id/oauth_applications/';

function oauthOf(project_id: string, config_id: number) {
  return reading(pathTo(of, { project_id, id: config_id }));
}

/** Shows the connected account of a tool with OAuth. */
export function OauthSection(given: Given) {
  const query = useQuery(oauthOf(given.place.project_id, given.config_id));
  if (query.data === undefined || query.data.way === 'settings') return null;
  return (
    <Section title="Connection">
      <Shown query={query}>{(oauth) => <Connection {...given} oauth={oauth} />}</Shown>
    </Section>
  );
}

function Connection(given: Known) {
  const { oauth, may_change } = given;
  const { connection, application } = oauth;
  const { word, shape, tone } = connectionState(oauth);
  return (
    <>
      <p>
        <span className={tone}>
          <span aria-hidden="true">{shape}</span> {word}
        </span>
        {connection !== null && (
          <>
            {connection.account !== null && (
              <>
                {' '}
                with <bdi>{connection.account}</bdi>
              </>
            )}{' '}
            since <Instant at={connection.connected_at} is_exact />
            {connection.connected_by !== null && ` by ${connection.connected_by}`}.
            {connection.refused !== null && ` ${connection.refused.reason}`}
          </>
        )}
      </p>
      {application === null ? <Register {...given} /> : may_change && <Buttons {...given} />}
      {application !== null && may_change && (
        <Seldom summary="OAuth application">
          <Application {...given} application={application} />
        </Seldom>
      )}
    </>
  );
}

function Buttons({ place: { project_id }, config_id, oauth: { connection } }: Known) {
  const done = useDone();
  const reads = [oauthOf(project_id, config_id), pluginConfigOf(project_id, config_id)] as const;
  return (
    <>
      <Form
        path={pathTo(`${of}connect/`, { project_id, id: config_id })}
        part="connect"
        done={({ authorize_url }) => window.location.assign(authorize_url)}
        button={connection === null ? 'Connect account' : 'Connect again'}
        {...(connection === null || connection.refused !== null ? {} : { tone: 'plain' as const })}
      />
      {connection !== null && (
        <Form
          path={pathTo(`${of}disconnect/`, { project_id, id: config_id })}
          part="disconnect"
          asks={() => ({
            title: 'Disconnect the tool?',
            text: 'Sluice revokes its tokens. Events wait until you connect it again.',
            button: 'Disconnect',
            keep: 'Keep the connection',
          })}
          done={({ is_revoked, detail }) =>
            done(
              is_revoked
                ? 'The tool is disconnected, and its tokens are revoked.'
                : `The tool is disconnected. Its tokens were not revoked. ${detail ?? ''}`,
              ...reads,
            )
          }
          button="Disconnect"
          tone="plain"
        />
      )}
    </>
  );
}

/** The steps to register an application, for a person who may. */
function Register({ place, config_id, may_change, oauth }: Known) {
  const done = useDone();
  const { organization_id, project_id } = place;
  const { tool, proposal, register_at } = oauth;
  if (!may_change)
    return <p>An administrator registers an OAuth application with the vendor first.</p>;
  return (
    <>
      <p>
        Create an OAuth application
        {register_at === null ? ' at the vendor' : ' at '}
        {register_at !== null && (
          <a href={register_at} target="_blank" rel="noreferrer">
            {new URL(register_at).hostname}
          </a>
        )}
        . Give it this redirect address, then enter what the vendor shows you.
      </p>
      <Command text={oauth.redirect_uri} what="the redirect address" />
      <Form
        path={pathTo(applications, { organization_id })}
        part={tool}
        body={(values) => ({
          tool,
          client_id: values.client_id,
          client_secret: values.client_secret,
          authorize_url: values.authorize_url,
          token_url: values.token_url,
          revoke_url: values.revoke_url === '' ? null : values.revoke_url,
          scopes: values.scopes,
        })}
        done={() =>
          done(
            'The application was registered. Connect an account now.',
            oauthOf(project_id, config_id),
          )
        }
        button="Register application"
      >
        <TextField name="client_id" label="Client ID" />
        <SecretField name="client_secret" label="Client secret" />
        <AddressFields {...proposal} />
      </Form>
    </>
  );
}

function AddressFields({ authorize_url, token_url, revoke_url, scopes }: PluginOauth['proposal']) {
  return (
    <>
      <TextField name="authorize_url" label="Authorize address" value={authorize_url ?? ''} />
      <TextField name="token_url" label="Token address" value={token_url ?? ''} />
      <TextField name="revoke_url" label="Revocation address (optional)" value={revoke_url ?? ''} />
      <TextField name="scopes" label="Scopes" value={scopes} />
    </>
  );
}

/** The organization's application, with its deletion. */
function Application({
  place,
  config_id,
  oauth,
  application: { id, client_id },
}: Known & { application: NonNullable<PluginOauth['application']> }) {
  const done = useDone();
  const { organization_id, project_id } = place;
  const path = pathTo(`${applications}:id/`, { organization_id, id });
  return (
    <>
      <p>
        Client ID <code>{client_id}</code>, redirect address <code>{oauth.redirect_uri}</code>
      </p>
      <Form
        method="PATCH"
        path={path}
        part="secret"
        body={({ client_secret }) => ({ client_secret })}
        done={() => done('The client secret was saved.', oauthOf(project_id, config_id))}
        button="Save the client secret"
        tone="plain"
        clears
      >
        <SecretField name="client_secret" label="New client secret" />
      </Form>
      <Form
        method="DELETE"
        path={path}
        part="remove"
        asks={() => ({
          title: 'Delete the OAuth application?',
          text: 'You enter its client secret again to use it later. It stays at the vendor.',
          button: 'Delete the application',
          keep: 'Keep it',
        })}
        done={() => done('The application was deleted.', oauthOf(project_id, config_id))}
        button="Delete application"
        tone="danger"
      />
    </>
  );
}
