import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../house/source_files.ts';
import { testIdentityProvider } from './identity_provider.ts';

// Debian installs pysaml2 for its own Python, which may not be the first one on the path.
const python = ['/usr/bin/python3', 'python3'].find(
  (program) =>
    // Its import takes more than a second.
    spawnSync(program, [
      '-c',
      'import importlib.util, shutil, sys\n' +
        'sys.exit(None in (importlib.util.find_spec("saml2"), shutil.which("xmlsec1")))',
    ]).status === 0,
);

/** The reason why tests with pysaml2 are skipped on this machine; false if it is installed. */
export const skip_pysaml2 =
  python === undefined
    ? 'pysaml2 or xmlsec1 is missing; on Debian: apt-get install python3-pysaml2 xmlsec1'
    : false;

/** The way in which pysaml2 signs. */
export type Pysaml2Signing = {
  is_response_signed: boolean;
  signature_algorithm: string;
  digest_algorithm: string;
};

/** An identity provider of pysaml2: a process that answers one sign-in after another. */
export type Pysaml2 = {
  /**
   * Returns its answer for Ada to the browser that was sent to `url`, from our metadata (XML) and
   * with the key of the provider `acme`; `response` is base64.
   */
  answer(
    url: string,
    service_metadata: string,
    signing: Pysaml2Signing,
  ): Promise<{ issuer: string; binding: string; response: string }>;
  close(): Promise<void>;
};

/** Starts to answer; loading pysaml2 takes more than a second. */
export function openPysaml2(): Pysaml2 {
  const acme = testIdentityProvider('acme');
  const file = (name: string) => join(root, 'test/certificates', name);
  const child = spawn(python!, [join(root, 'test/saml/pysaml2_identity_provider.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    answer: async (url, service_metadata, signing) => {
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
      child.stdin.write(`${JSON.stringify(asked)}\n`);
      const { value, done } = await answers.next();
      assert.ok(done !== true, 'pysaml2 ended without an answer');
      return JSON.parse(value) as Awaited<ReturnType<Pysaml2['answer']>>;
    },
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
