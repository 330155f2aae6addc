import { nameUser } from './world.ts';
import type { StoryWorld } from './world.ts';

/** An organization, its projects, its people and their invites. */
export async function tellOrganizations(world: StoryWorld): Promise<void> {
  await organizations(world);
  await projects(world);
  await members(world);
  await invites(world);
  await serviceKeys(world);
}

async function organizations({ ask, organization }: StoryWorld): Promise<void> {
  await ask('GET', '/api/organizations/');
  const { id } = await ask('POST', '/api/organizations/', { name: 'Acme Labs' });
  await ask('GET', organization);
  await ask('PATCH', organization, { name: 'Acme Analytics' });
  await ask('PUT', organization, { name: 'Acme', is_member_join_email_enabled: false });
  await ask('DELETE', `/api/organizations/${id}/`);
}

async function projects({ ask, home, project }: StoryWorld): Promise<void> {
  await ask('GET', '/api/projects/');
  await ask('GET', `/api/organizations/${home.organization.id}/projects/`);
  const body = {
    name: 'Mobile app',
    organization: home.organization.id,
    timezone: 'Europe/Berlin',
  };
  const { id } = await ask('POST', '/api/projects/', body);
  await ask('GET', project);
  await ask('PATCH', project, { robot_events: 'mark' });
  await ask('PUT', project, { name: 'Web shop', timezone: 'UTC', robot_events: 'mark' });
  await ask('DELETE', `/api/projects/${id}/`);
}

async function members({ ask, harness, home, organization }: StoryWorld): Promise<void> {
  const { user } = await harness.newMember(home.organization.id, 1);
  await nameUser(harness, user.id, 'Grace', 'grace@example.com');
  await harness.newSession(user);
  await harness.newSession(user);
  const one = `${organization}members/${user.uuid}/`;
  await ask('GET', `${organization}members/`);
  await ask('PATCH', one, { level: 8 });
  await ask('PUT', one, { level: 1 });
  const { results } = await ask('GET', `${one}sessions/`);
  await ask('DELETE', `${one}sessions/${results[0].id}/`);
  await ask('DELETE', `${one}sessions/`);
  await ask('DELETE', one);
}

async function invites({ ask, organization }: StoryWorld): Promise<void> {
  const base = `${organization}invites/`;
  const invite = { target_email: 'linus@example.com', first_name: 'Linus', level: 1 };
  const { id, link } = await ask('POST', base, invite);
  await ask('POST', `${base}bulk/`, {
    invites: [
      { target_email: 'barbara@example.com', level: 8 },
      { target_email: 'tim@example.com' },
    ],
  });
  await ask('GET', base);
  const token = new URL(link).searchParams.get('token')!;
  const nobody = {};
  await ask('GET', `/api/invites/${id}/?token=${token}`, undefined, nobody);
  await ask(
    'POST',
    `/api/invites/${id}/accept/`,
    { token, first_name: 'Linus', password: 'violet anchor mosaic dune' },
    nobody,
  );
  const { id: other } = await ask('POST', base, { target_email: 'edsger@example.com' });
  await ask('POST', `${base}${other}/resend/`);
  await ask('DELETE', `${base}${other}/`);
}

async function serviceKeys({ ask, harness, home, organization }: StoryWorld): Promise<void> {
  const session = { cookie: `__Host-${await harness.newSession(home.user)}` };
  const base = `${organization}service_keys/`;
  const scopes = ['batch_export:write', 'project:read'];
  const { id, value } = await ask('POST', base, { name: 'Loader', scopes }, session);
  const one = `${base}${id}/`;
  await ask('GET', base);
  await ask('GET', one);
  await ask('GET', '/api/service_keys/@current/', undefined, { authorization: `Bearer ${value}` });
  await ask('PATCH', one, { name: 'Nightly loader' }, session);
  await ask('PUT', one, { name: 'Nightly loader', scopes }, session);
  await ask('POST', `${one}roll/`, { overlap_seconds: 3600 }, session);
  await ask('DELETE', one, undefined, session);
}
