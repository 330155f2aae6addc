import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../child.ts';
import { icon_package } from './icons.ts';

/** The used parts of a package in the bill of materials. */
type Component = { 'bom-ref': string; name: string; version: string };

/** A bill of materials in CycloneDX's form, as npm writes it from the lock. */
export type Bill = {
  serialNumber: string;
  version: number;
  metadata: { timestamp?: string; component: { 'bom-ref': string; name: string } };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/**
 * Packages that are bundled with their native parts. As dependencies, npm would compile them for an
 * older Node, on which Sluice does not run, and fail.
 */
export const packed_packages = ['isolated-vm', 'node-gyp-build'];

/**
 * Returns the bill of what the package runs with, from the lock: its dependencies and the packages
 * in the files of the console and the site, with their dependencies. Versions, hashes and licences
 * are npm's. It has the time of the commit and a number computed from its contents, so that a
 * commit has one bill.
 */
export function billOfMaterials(committed: Date | undefined): Bill {
  const bill = JSON.parse(
    execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as Bill;
  const { dependencies = {}, optionalDependencies = {} } = readPackage(root);
  const bundled = consolePackages();
  const kept = reach(bill, [
    ...Object.keys(dependencies),
    ...Object.keys(optionalDependencies),
    ...bundled,
    ...packed_packages,
  ]);
  for (const ref of siteRefs(bill)) kept.add(ref);
  const own = bill.metadata.component;
  own.name = 'sluice';
  const edges = bill.dependencies
    .filter(({ ref }) => ref === own['bom-ref'] || kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((to) => kept.has(to)) }));
  const { timestamp: _now, ...metadata } = bill.metadata;
  const settled = {
    ...bill,
    metadata: {
      ...(committed === undefined ? {} : { timestamp: committed.toISOString() }),
      ...metadata,
    },
    components: bill.components.filter((component) => kept.has(component['bom-ref'])),
    dependencies: edges,
  };
  return { ...settled, serialNumber: numberOf(JSON.stringify({ ...settled, serialNumber: '' })) };
}

/** Returns a UUID of version 8, computed from a text. */
function numberOf(text: string): string {
  const digits = createHash('sha256').update(text).digest('hex');
  const parts = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(digits)!.slice(1);
  return `urn:uuid:${parts[0]}-${parts[1]}-8${parts[2]}-8${parts[3]}-${parts[4]}`;
}

/**
 * Returns the licence texts of the packages whose code is in the files of the console and the site.
 */
export function consoleLicences(bill: Bill): string {
  const bundled = new Set([...reach(bill, consolePackages()), ...siteRefs(bill)]);
  return bill.components
    .filter((component) => bundled.has(component['bom-ref']))
    .map(({ name, version }) => {
      const folder = join(root, 'node_modules', name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.\w+)?$/i.test(entry));
      const text =
        file === undefined
          ? `Licence: ${readPackage(folder).license}${authorOf(folder)}`
          : readFileSync(join(folder, file), 'utf8').trim();
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** The author of a set of icons, which has no file for its licence. */
function authorOf(folder: string): string {
  if (!existsSync(join(folder, 'info.json'))) return '';
  const { author, license } = JSON.parse(readFileSync(join(folder, 'info.json'), 'utf8')) as {
    author: { name: string };
    license: { url: string };
  };
  return `, Copyright (c) ${author.name}, ${license.url}`;
}

/** Returns the packages whose code the build put into the site of the docs. */
function siteRefs({ components }: Bill): string[] {
  const names = JSON.parse(readFileSync(join(root, 'site/packages.json'), 'utf8')) as string[];
  return components
    .map((component) => component['bom-ref'])
    .filter((ref) => names.includes(ref.slice(0, ref.lastIndexOf('@'))));
}

/** Returns the root's direct dependencies of these names, and all that they depend on. */
function reach({ metadata, dependencies }: Bill, names: string[]): Set<string> {
  const wanted = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const direct = wanted.get(metadata.component['bom-ref']) ?? [];
  const open = direct.filter((ref) => names.includes(ref.slice(0, ref.lastIndexOf('@'))));
  const reached = new Set<string>();
  for (let ref = open.pop(); ref !== undefined; ref = open.pop()) {
    if (reached.has(ref)) continue;
    reached.add(ref);
    open.push(...(wanted.get(ref) ?? []));
  }
  return reached;
}

/** Returns the packages that modules and styles of the console name. */
function consolePackages(): string[] {
  const folder = join(root, 'console');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:tsx?|css)$/.test(path) && !/\.test\.tsx?$/.test(path))
    .flatMap((path) =>
      [
        ...readFileSync(join(folder, path), 'utf8').matchAll(
          /(?:from|import|url)\s*\(?'([^'.][^']*)'/g,
        ),
      ]
        .map(([, specifier]) => specifier!.split('/'))
        .map(([first, second]) => (first!.startsWith('@') ? `${first}/${second}` : first!)),
    );
  return [...new Set([...names, icon_package])].filter((name) => !name.startsWith('node:'));
}

function readPackage(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    license?: string;
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
}
