import { IdentityProvider, SamlLib, ServiceProvider, setSchemaValidator } from 'samlify';
import { testIdentityProvider, xml_names } from './identity_provider.ts';

// Required by samlify: a validator of schemas. The code under test decides what is valid.
setSchemaValidator({ validate: async () => 'not validated' });

const statements =
  '<saml:AuthnStatement AuthnInstant="{IssueInstant}" SessionIndex="{ID}"><saml:AuthnContext>' +
  '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport' +
  '</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>' +
  '<saml:AttributeStatement>' +
  '<saml:Attribute Name="email"><saml:AttributeValue>{Email}</saml:AttributeValue>' +
  '</saml:Attribute>' +
  '<saml:Attribute Name="givenName"><saml:AttributeValue>Ada</saml:AttributeValue>' +
  '</saml:Attribute></saml:AttributeStatement>';

/**
 * Returns the answer of samlify, as the provider `acme`, to the browser that was sent to `url`. It
 * imports our metadata (XML), reads the AuthnRequest and signs the assertion, by the machine's
 * clock. The response is base64, as in the form; `endpoint` is the address that it is sent to.
 */
export async function answerBySamlify(
  url: string,
  service_metadata: string,
  email: string,
): Promise<{ issuer: string; endpoint: string; response: string }> {
  const acme = testIdentityProvider('acme');
  const provider = samlifyProvider(acme);
  const service = ServiceProvider({ metadata: service_metadata });
  const query = Object.fromEntries(new URL(url).searchParams);
  const { extract } = await provider.parseLoginRequest(service, 'redirect', { query });
  const { issuer, request } = extract as { issuer: string; request: { id: string } };
  const acs_url = String(service.entityMeta.getAssertionConsumerService('post'));
  const now = new Date();
  const end = new Date(now.getTime() + 300_000).toISOString();
  const id = `_${crypto.randomUUID()}`;
  const values = {
    ID: id,
    AssertionID: `_${crypto.randomUUID()}`,
    Issuer: acme.entity_id,
    IssueInstant: now.toISOString(),
    Destination: acs_url,
    SubjectRecipient: acs_url,
    Audience: service.entityMeta.getEntityID(),
    InResponseTo: request.id,
    ConditionsNotBefore: now.toISOString(),
    ConditionsNotOnOrAfter: end,
    SubjectConfirmationDataNotOnOrAfter: end,
    StatusCode: xml_names.success,
    NameIDFormat: xml_names.email_format,
    NameID: email,
    Email: email,
  };
  const filled = (context: string) => ({
    id,
    context: SamlLib.replaceTagsByValue(context, values),
  });
  const answer = await provider.createLoginResponse(
    service,
    { extract },
    'post',
    { email },
    { customTagReplacement: filled },
  );
  return {
    issuer,
    endpoint: 'entityEndpoint' in answer ? answer.entityEndpoint : '',
    response: answer.context,
  };
}

function samlifyProvider(acme: ReturnType<typeof testIdentityProvider>) {
  const template = SamlLib.defaultLoginResponseTemplate.context.replace(
    '{AuthnStatement}{AttributeStatement}',
    statements,
  );
  return IdentityProvider({
    entityID: acme.entity_id,
    privateKey: acme.private_key,
    signingCert: acme.certificate,
    nameIDFormat: [xml_names.email_format],
    singleSignOnService: [
      { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: acme.sso_url },
    ],
    requestSignatureAlgorithm: xml_names.rsa_sha256,
    loginResponseTemplate: { context: template, attributes: [] },
  });
}
