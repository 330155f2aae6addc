import type { ReleaseKey } from './key.ts';

const payload_type = 'application/vnd.in-toto+json';

/** A file of a release with its SHA-256. */
export type Subject = { name: string; sha256: string };

/** The inputs of a build: everything that is needed to repeat it. */
export type Origin = {
  /** The address of the repository, without a scheme of git. */
  repository: string;
  release: string;
  commit: string;
  lock_sha256: string;
  node: string;
  npm: string;
  started: Date;
  finished: Date;
};

/** Returns a statement of in-toto, with SLSA's provenance 1.0, about files built from a commit. */
export function provenance(subjects: Subject[], origin: Origin): object {
  const page = `${origin.repository}/blob/v${origin.release}/docs/releasing.md`;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${page}#build`,
        externalParameters: {
          repository: origin.repository,
          ref: `refs/tags/v${origin.release}`,
          commands: ['npm ci --ignore-scripts', 'npm pack'],
        },
        internalParameters: { node: origin.node, npm: origin.npm },
        resolvedDependencies: [
          {
            uri: `git+${origin.repository}@refs/tags/v${origin.release}`,
            digest: { gitCommit: origin.commit },
          },
          { name: 'package-lock.json', digest: { sha256: origin.lock_sha256 } },
        ],
      },
      runDetails: {
        builder: { id: `${page}#builder` },
        metadata: {
          invocationId: `${origin.commit}-${origin.started.getTime()}`,
          startedOn: origin.started.toISOString(),
          finishedOn: origin.finished.toISOString(),
        },
      },
    },
  };
}

/** The statement in a DSSE envelope, signed. */
export function envelope(statement: object, key: ReleaseKey): object {
  const body = Buffer.from(JSON.stringify(statement));
  const head = `DSSEv1 ${payload_type.length} ${payload_type} ${body.length} `;
  return {
    payloadType: payload_type,
    payload: body.toString('base64'),
    signatures: [{ keyid: key.id, sig: key.sign(Buffer.concat([Buffer.from(head), body])) }],
  };
}
