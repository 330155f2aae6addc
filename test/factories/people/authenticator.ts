import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The changes that a test makes to an authenticator's answer, or to the browser around it. */
export type Bent = {
  origin?: string;
  rp_id?: string;
  challenge?: string;
  type?: string;
  cross_origin?: boolean;
  /** True if the authenticator verified the person; default true. */
  verifies?: boolean;
  /** The reported sign count; by default one more than before. */
  sign_count?: number;
  user_handle?: string;
};
type Options = { challenge: string; rp?: { id: string }; rpId?: string; user?: { id: string } };

/** An authenticator in software: ES256, no attestation, a passkey for each site. */
export type Authenticator = {
  /** Answers the options of `navigator.credentials.create()`, as a browser encodes the answer. */
  create(options: Options, bent?: Bent & { attestation?: Buffer }): any;
  /** Answers the options of `navigator.credentials.get()` with the passkey that it created last. */
  show(options: Options, bent?: Bent): any;
};

const flags = { present: 0x01, verified: 0x04, backup_eligible: 0x08, attested: 0x40 };

/** Creates a new authenticator of a person, at pages of this origin. */
export function newAuthenticator(origin: string): Authenticator {
  let held: { key: KeyObject; id: string; user_handle: string } | undefined;
  let count = 0;
  const countOf = ({ sign_count }: Bent) => sign_count ?? (count += 1);
  return {
    create: (options, bent = {}) => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const raw_id = randomBytes(32);
      const id = raw_id.toString('base64url');
      held = { key: privateKey, id, user_handle: options.user!.id };
      const attested = attestedOf(raw_id, publicKey);
      const data = authenticatorDataOf(options, bent, countOf(bent), attested);
      return {
        id,
        rawId: id,
        type: 'public-key',
        authenticatorAttachment: 'platform',
        clientExtensionResults: { credProps: { rk: true } },
        response: {
          clientDataJSON: text(clientDataOf('webauthn.create', origin, options, bent)),
          attestationObject: text(attestationOf(data, bent.attestation)),
          transports: ['internal', 'hybrid'],
        },
      };
    },
    show: (options, bent = {}) => {
      const { key, id, user_handle } = held!;
      const client_data = clientDataOf('webauthn.get', origin, options, bent);
      const data = authenticatorDataOf(options, bent, countOf(bent));
      const signature = sign('sha256', Buffer.concat([data, sha256(client_data)]), key);
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: text(client_data),
          authenticatorData: text(data),
          signature: text(signature),
          userHandle: bent.user_handle ?? user_handle,
        },
      };
    },
  };
}

function clientDataOf(type: string, origin: string, options: Options, bent: Bent): Buffer {
  const data = {
    type: bent.type ?? type,
    challenge: bent.challenge ?? options.challenge,
    origin: bent.origin ?? origin,
    crossOrigin: bent.cross_origin ?? false,
  };
  return Buffer.from(JSON.stringify(data));
}

function authenticatorDataOf(
  options: Options,
  bent: Bent,
  sign_count: number,
  attested: Buffer = Buffer.alloc(0),
): Buffer {
  const rp_id = bent.rp_id ?? options.rp?.id ?? options.rpId!;
  const said =
    flags.present |
    flags.backup_eligible |
    (bent.verifies === false ? 0 : flags.verified) |
    (attested.length > 0 ? flags.attested : 0);
  const counted = Buffer.alloc(4);
  counted.writeUInt32BE(sign_count);
  return Buffer.concat([sha256(Buffer.from(rp_id)), Buffer.from([said]), counted, attested]);
}

/** No model, the id, and {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} in CBOR. */
function attestedOf(raw_id: Buffer, key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' });
  return Buffer.concat([
    Buffer.alloc(16),
    sizeOf(raw_id),
    raw_id,
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x!, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y!, 'base64url'),
  ]);
}

function sizeOf({ length }: Buffer): Buffer {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(length);
  return size;
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** {fmt: 'none', attStmt: {}, authData}, or another `fmt` and `attStmt`, in CBOR. */
function attestationOf(data: Buffer, other?: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([0xa3]),
    other ?? Buffer.from('63666d74646e6f6e656761747453746d74a0', 'hex'),
    Buffer.from('68617574684461746159', 'hex'),
    sizeOf(data),
    data,
  ]);
}
