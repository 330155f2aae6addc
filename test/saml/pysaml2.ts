import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../house/source_files.ts';
import { testIdentityProvider } from './identity_provider.ts';

// Debian installs pysaml2 for its own Python, which need not be the first one on the path.
const python = ['/usr/bin/python3', 'python3'].find(
  (program) =>
    // To import it takes more than a second.
    spawnSync(program, [
      '-c',
      'import importlib.util, shutil, sys\n' +
        'sys.exit(None in (importlib.util.find_spec("saml2"), shutil.which("xmlsec1")))',
    ]).status === 0,
);

/** Why tests with pysaml2 are skipped on this machine; false where it is installed. */
export const skip_pysaml2 =
  python === undefined
    ? 'pysaml2 or xmlsec1 is missing; on Debian: apt-get install python3-pysaml2 xmlsec1'
    : false;

/** How pysaml2 signs. */
export type Pysaml2Signing = {
  is_response_signed: boolean;
  signature_algorithm: string;
  digest_algorithm: string;
};

/**
 * What pysaml2 answers for Ada to the browser that was sent to `url`, from our metadata (XML) and
 * with the key of the provider `acme`; `response` is base64.
 */
export function answerByPysaml2(
  url: string,
  service_metadata: string,
  signing: Pysaml2Signing,
): { issuer: string; binding: string; response: string } {
  const acme = testIdentityProvider('acme');
  const file = (name: string) => join(root, 'test/certificates', name);
  const asked = {
    entity_id: acme.entity_id,
    sso_url: acme.sso_url,
    key_file: file('saml_acme.key'),
    certificate_file: file('saml_acme.crt'),
    service_metadata,
    request: new URL(url).searchParams.get('SAMLRequest'),
    email: 'Ada@acme.example',
    ...signing,
  };
  const { status, stdout, stderr } = spawnSync(
    python!,
    [join(root, 'test/saml/pysaml2_identity_provider.py')],
    {
      input: JSON.stringify(asked),
      encoding: 'utf8',
    },
  );
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as ReturnType<typeof answerByPysaml2>;
}
