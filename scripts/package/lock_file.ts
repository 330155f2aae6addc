/** The used parts of an entry of package-lock.json (lockfileVersion 3). */
export type LockEntry = {
  version?: string;
  resolved?: string;
  /** True for a folder of this repository, which `resolved` names. */
  link?: boolean;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[] | string;
  cpu?: string[] | string;
  libc?: string[];
  bin?: Record<string, string>;
  hasInstallScript?: boolean;
  engines?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};

/** package-lock.json; `packages` is keyed by folder, the root by the empty text. */
export type Lock = { lockfileVersion: number; packages: Record<string, LockEntry> };

/** An optional dependency that a lock names but has no entry for. */
export type MissingPackage = { name: string; version: string; required_by: string };

const systems = [
  'darwin',
  'linux',
  'win32',
  'android',
  'freebsd',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'openharmony',
];
const processors = [
  'arm64',
  'x64',
  'ia32',
  'arm',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
  'wasm32',
];

/** Returns the optional dependencies without an entry, each once, in the lock's order. */
export function listMissingPackages(lock: Lock): MissingPackage[] {
  const missing = new Map<string, MissingPackage>();
  for (const [folder, entry] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!missing.has(name) && !isInstalledFor(lock, folder, name))
        missing.set(name, { name, version: lowestVersion(name, range), required_by: folder });
    }
  }
  return [...missing.values()];
}

/**
 * Returns a copy of the lock in which every optional dependency has an entry, no entry has the
 * address of a registry, and no package names the Node that it wants. npm would compare that with
 * the Node that it runs on, while the project brings its own. An added entry has the platform of
 * its name, so that npm skips it elsewhere. It has no integrity, because its content is unknown
 * here.
 */
export function completeLock(lock: Lock): { lock: Lock; added: string[]; addresses: number } {
  const packages = Object.entries(lock.packages).map(
    ([folder, { resolved, engines, ...entry }]): [string, LockEntry] => [
      folder,
      {
        ...(entry.link === true && resolved !== undefined && { resolved }),
        ...entry,
        ...(folder === '' && engines !== undefined && { engines }),
      },
    ],
  );
  const addresses = Object.values(lock.packages).filter(
    (entry) => entry.resolved !== undefined && entry.link !== true,
  ).length;
  const missing = listMissingPackages(lock);
  for (const { name, version, required_by } of missing) {
    const isDev = lock.packages[required_by]?.dev === true;
    packages.push([
      `node_modules/${name}`,
      { version, ...platformOf(name), ...(isDev && { dev: true }), optional: true },
    ]);
  }
  // npm's own order, so that nothing else in the lock changes.
  packages.sort(([left], [right]) => left.localeCompare(right, 'en'));
  return {
    lock: { ...lock, packages: Object.fromEntries(packages) },
    added: missing.map(({ name }) => name),
    addresses,
  };
}

/**
 * Returns true if Node would find the package from `folder`: in its own node_modules, or in those
 * of the folders above.
 */
function isInstalledFor(lock: Lock, folder: string, name: string): boolean {
  for (
    let base = folder;
    ;
    base = base.slice(0, Math.max(base.lastIndexOf('node_modules/') - 1, 0))
  ) {
    if (lock.packages[`${base === '' ? '' : `${base}/`}node_modules/${name}`] !== undefined)
      return true;
    if (base === '') return false;
  }
}

function lowestVersion(name: string, range: string): string {
  const version = /^[\^~=]?(\d+\.\d+\.\d+[\w.+-]*)$/.exec(range)?.[1];
  if (version === undefined)
    throw new Error(
      `${name} is wanted as "${range}", which names no lowest version: pin the package that ` +
        'wants it to another version.',
    );
  return version;
}

/**
 * Returns the os, cpu and libc in a platform package's name; a package without them is for every
 * platform.
 */
function platformOf(name: string): Pick<LockEntry, 'os' | 'cpu' | 'libc'> {
  const parts = name.toLowerCase().replace('windows', 'win32').split(/[-/.]/);
  const os = systems.find((system) => parts.includes(system));
  const cpu = processors.find(
    (processor) => parts.includes(processor) || parts.includes(`${processor}eabi`),
  );
  const libc = parts.some((part) => part.startsWith('musl'))
    ? 'musl'
    : parts.some((part) => part.startsWith('gnu'))
      ? 'glibc'
      : undefined;
  return {
    ...(cpu !== undefined && { cpu: [cpu] }),
    ...(libc !== undefined && os === 'linux' && { libc: [libc] }),
    ...(os !== undefined && { os: [os] }),
  };
}
