import type { RelyingParty } from './relying_party.ts';
import type { CreatedPasskey, GivenPasskey } from './schema.ts';

/** Why a passkey was refused, for the log only. */
export type Refused = { refused: string };

/** A key from an authenticator. */
export type NewCredential = {
  id: string;
  public_key: Buffer;
  sign_count: number;
  transports: string[];
  aaguid: string;
  is_backup_eligible: boolean;
  is_backed_up: boolean;
};

/** The stored part of a passkey that verifies it. */
export type KnownCredential = { credential_id: string; public_key: Buffer };

/** The answer of an authenticator to a challenge. */
export type ShownCredential = { sign_count: number; is_backed_up: boolean };

/** ES256, EdDSA and RS256 (for Windows Hello), in order of preference. */
export const algorithms = [-7, -8, -257];

/** Returns the challenge that the browser answered, unverified; undefined if there is none. */
export function challengeIn({ clientDataJSON }: { clientDataJSON: string }): string | undefined {
  return clientDataOf(clientDataJSON)?.challenge;
}

/**
 * Verifies a browser's answer to the creation of a passkey: for this server and this challenge,
 * with user verification by the authenticator.
 */
export async function verifyCreated(
  party: RelyingParty,
  challenge: string,
  given: CreatedPasskey,
): Promise<NewCredential | Refused> {
  if (isFramed(given.response.clientDataJSON)) return { refused: 'created inside a frame' };
  const library = await loadLibrary();
  return refusedOnFault(async () => {
    const object = library.decodeAttestationObject(bytesOf(given.response.attestationObject));
    // The server did not request a certificate, and the library would call the address in it to
    // check it.
    if (object.get('fmt') !== 'none' && object.get('attStmt').get('x5c') !== undefined)
      return { refused: 'it comes with a certificate' };
    const { verified, registrationInfo } = await library.verifyRegistrationResponse({
      response: { ...given, clientExtensionResults: {} } as never,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) return { refused: 'wrong signature' };
    const { credential, aaguid, credentialDeviceType, credentialBackedUp } = registrationInfo;
    return {
      id: credential.id,
      public_key: Buffer.from(credential.publicKey),
      sign_count: credential.counter,
      transports: given.response.transports ?? [],
      aaguid,
      is_backup_eligible: credentialDeviceType === 'multiDevice',
      is_backed_up: credentialBackedUp,
    };
  });
}

/**
 * Verifies a browser's answer to a passkey challenge: by its key, for this challenge, on our pages,
 * and with verification of the user by the authenticator. The caller judges the sign count.
 */
export async function verifyShown(
  party: RelyingParty,
  challenge: string,
  given: GivenPasskey,
  known: KnownCredential,
): Promise<ShownCredential | Refused> {
  if (isFramed(given.response.clientDataJSON)) return { refused: 'shown inside a frame' };
  const library = await loadLibrary();
  return refusedOnFault(async () => {
    const { verified, authenticationInfo } = await library.verifyAuthenticationResponse({
      response: { ...given, clientExtensionResults: {} } as never,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: known.credential_id,
        publicKey: new Uint8Array(known.public_key),
        // The caller checks the count after the signature was verified.
        counter: 0,
      },
    });
    if (!verified) return { refused: 'wrong signature' };
    const { newCounter, credentialBackedUp } = authenticationInfo;
    return { sign_count: newCounter, is_backed_up: credentialBackedUp };
  });
}

/** Loaded with the first passkey, because it takes 26 MB and a tenth of a second. */
async function loadLibrary() {
  const [server, { decodeAttestationObject }] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, decodeAttestationObject };
}

/** The library throws for a refusal, and also for malformed bytes. */
async function refusedOnFault<Verified>(
  verify: () => Promise<Verified | Refused>,
): Promise<Verified | Refused> {
  try {
    return await verify();
  } catch (error) {
    return { refused: error instanceof Error ? error.message.slice(0, 300) : 'no such message' };
  }
}

type ClientData = { challenge?: string; crossOrigin?: unknown };

function clientDataOf(text: string): ClientData | undefined {
  try {
    const data = JSON.parse(bytesOf(text).toString()) as ClientData | null;
    return typeof data?.challenge === 'string' ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Our pages are never in a frame of another site. */
function isFramed(text: string): boolean {
  return clientDataOf(text)?.crossOrigin === true;
}

function bytesOf(base64url: string): Buffer<ArrayBuffer> {
  return Buffer.from(base64url, 'base64url');
}
