/** The values of this server that a provider needs. */
export type OwnValues = { metadata: string; entity_id: string; acs_url: string };

/** A step at the provider, with a value to copy there. */
export type Step = { text: string; copy?: { text: string; what: string } };

/** The steps at one provider. */
export type Guide = { name: string; steps: Step[] };

/** Returns the steps at the common providers, with the names that their pages use. */
export function guidesOf(own: OwnValues): Guide[] {
  const copies: Copies = {
    metadata: { text: own.metadata, what: 'the address of the metadata' },
    id: { text: own.entity_id, what: 'the identifier of this server' },
    acs: { text: own.acs_url, what: 'the address for responses' },
  };
  return [
    { name: 'Okta', steps: oktaSteps(copies) },
    { name: 'Microsoft Entra', steps: entraSteps(copies) },
    { name: 'Google', steps: googleSteps(copies) },
    { name: 'Keycloak', steps: keycloakSteps(copies) },
    { name: 'Another provider', steps: otherSteps(copies) },
  ];
}

type Copies = Record<'metadata' | 'id' | 'acs', NonNullable<Step['copy']>>;

function oktaSteps({ id, acs }: Copies): Step[] {
  return [
    { text: 'Open "Applications", "Create App Integration", and choose "SAML 2.0".' },
    { text: 'Enter this as "Single sign-on URL":', copy: acs },
    { text: 'Enter this as "Audience URI (SP Entity ID)":', copy: id },
    { text: 'Add an attribute statement: name "email", value "user.email".' },
    { text: 'Assign the app to the people who may sign in.' },
    { text: 'On the tab "Sign On", open the "Metadata URL" and save the page as a file.' },
  ];
}

function entraSteps({ id, acs }: Copies): Step[] {
  return [
    {
      text:
        'Open "Enterprise applications", "New application", "Create your own application", ' +
        'and choose the one that is not in the gallery.',
    },
    { text: 'Under "Single sign-on" choose "SAML". Enter this as "Identifier":', copy: id },
    { text: 'Enter this as "Reply URL":', copy: acs },
    { text: 'Under "Attributes & Claims" add the claim "email" with the source "user.mail".' },
    { text: 'Under "Users and groups" assign the people who may sign in.' },
    { text: 'Under "SAML Certificates" download the "Federation Metadata XML".' },
  ];
}

function googleSteps({ id, acs }: Copies): Step[] {
  return [
    { text: 'Open "Apps", "Web and mobile apps", "Add app", "Add custom SAML app".' },
    { text: 'Choose "Download metadata", then "Continue".' },
    { text: 'Enter this as "ACS URL":', copy: acs },
    { text: 'Enter this as "Entity ID". Leave "Signed response" off:', copy: id },
    { text: 'Map the attribute "Primary email" to "email".' },
    { text: 'Under "User access" switch the app on for the people who may sign in.' },
  ];
}

function keycloakSteps({ metadata }: Copies): Step[] {
  return [
    {
      text: 'Save the metadata of this server to a file:',
      copy: metadata,
    },
    { text: 'Open "Clients", "Import client", choose that file and save.' },
    { text: 'On the tab "Keys" switch "Client signature required" off.' },
    {
      text:
        'Under "Client scopes" open the scope that ends with "-dedicated", and add the ' +
        'predefined mappers "X500 email", "X500 givenName" and "X500 surname".',
    },
    {
      text:
        'Under "Realm settings", "General", open "SAML 2.0 Identity Provider Metadata" and ' +
        'save the page as a file.',
    },
  ];
}

function otherSteps({ metadata, id, acs }: Copies): Step[] {
  return [
    {
      text: 'Give your provider the metadata of this server:',
      copy: metadata,
    },
    { text: 'Or enter this as its entity id, audience or identifier:', copy: id },
    { text: 'and this as its ACS URL, which some call the reply URL:', copy: acs },
    { text: 'Have it sign assertions, with RSA and SHA-256, and send the attribute "email".' },
    { text: 'Save its metadata to a file.' },
  ];
}

/** Returns a hint on an entity id that is valid, but unlike those of most providers. */
export function entityIdHint(text: string): string | undefined {
  const typed = text.trim();
  if (typed === '' || /^(https?:\/\/|urn:)[^\s]+$/i.test(typed)) return undefined;
  return (
    'Most providers have a URL here. Check that it is the entity id of the provider, letter for ' +
    'letter.'
  );
}
