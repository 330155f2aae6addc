/** Returns the metadata that an identity provider publishes, with one signing certificate. */
export function providerMetadata({
  entity_id,
  url,
  certificate,
}: Record<'entity_id' | 'url' | 'certificate', string>): string {
  const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol';
  const binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
  const base64 = certificate.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  return `<?xml version="1.0"?>
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entity_id}">
  <IDPSSODescriptor protocolSupportEnumeration="${protocol}">
    <KeyDescriptor use="signing">
      <KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">
        <X509Data><X509Certificate>${base64}</X509Certificate></X509Data>
      </KeyInfo>
    </KeyDescriptor>
    <SingleSignOnService Binding="${binding}" Location="${url}"/>
  </IDPSSODescriptor>
</EntityDescriptor>
`;
}
