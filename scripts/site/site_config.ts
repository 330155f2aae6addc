import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import { join, relative, dirname } from 'node:path';
import type { Rolldown } from 'vite';
import type { DefaultTheme, MarkdownEnv, MarkdownRenderer, UserConfig } from 'vitepress';
import { transformerStyleToClass } from '@shikijs/transformers';
import { release } from '../../server/platform/version.ts';
import { root } from '../child.ts';
import { readGroups } from './sidebar.ts';
import { not_searched } from './stage.ts';

const built = join(root, 'site/dist');

const groups = readGroups(readFileSync(join(root, 'docs/README.md'), 'utf8'));

/** Collects the colours of code as classes. */
const styles = transformerStyleToClass({ classPrefix: 'c-' });

/** Contains the packages of all bundles, because the generator makes two. */
const packages = new Set<string>();

/** Contains the settings of the site. Its addresses are relative, so that any base path works. */
export const site_config: UserConfig<DefaultTheme.Config> = {
  title: 'Sluice',
  description: 'Deliver the events of your product, and prove that nothing was lost or doubled',
  lang: 'en',
  base: './',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: join(root, 'node_modules/.cache/sluice/site'),
  // The policy of the server allows no script in a page, and no style attribute.
  appearance: { disableTransition: false },
  vite: {
    // The search index is one file.
    build: { chunkSizeWarningLimit: 2_000 },
    plugins: [{ name: 'packages', generateBundle: writePackages }],
  },
  transformHtml: (html, file) => withoutStyles(moveScripts(html, file), file),
  markdown: {
    theme: { light: 'github-light', dark: 'github-dark' },
    codeTransformers: [styles],
    config: keepBraces,
  },
  themeConfig: {
    logo: { src: '/icon.svg', alt: '' },
    siteTitle: 'Sluice docs',
    nav: [
      { text: 'Tasks', link: '/' },
      { text: 'Glossary', link: '/glossary' },
      // The server has this page, and the site does not.
      { text: 'API', link: '/operations/', target: '_self' },
      {
        text: release,
        items: [
          { text: 'Changes', link: '/project/changelog' },
          { text: 'Upgrade', link: '/upgrade' },
        ],
      },
    ],
    sidebar: groups.map(({ text, items }) => ({
      text,
      collapsed: true,
      items: items.map((item) => ({ text: item.text, link: linkOf(item.link) })),
    })),
    outline: { level: [2, 3] },
    notFound: {
      title: 'Page not found',
      quote: 'The address is wrong, or the page has moved. Search the docs, or choose your task.',
      linkText: 'All tasks',
      linkLabel: 'All tasks',
    },
    search: {
      provider: 'local',
      options: { _render: renderSearched },
    },
  },
};

function linkOf(path: string): string {
  return `/${path.replace(/^\.\.\/README\.md$/, 'start').replace(/^\.\.\/examples/, 'examples')}`
    .replace(/README\.md$/, '')
    .replace(/\.md$/, '');
}

/** Writes the names of the packages whose code is in the site, for its licences. */
function writePackages(_: unknown, bundle: Rolldown.OutputBundle): void {
  for (const file of Object.values(bundle))
    for (const id of file.type === 'chunk' ? file.moduleIds : []) {
      const name = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1];
      if (name !== undefined) packages.add(name);
    }
  writeFileSync(join(root, 'site/packages.json'), JSON.stringify([...packages].toSorted()));
}

/** Renders a page for the search; skips the pages that it omits. */
function renderSearched(
  source: string,
  env: MarkdownEnv,
  markdown: MarkdownRenderer,
): Promise<string> {
  return source.startsWith(`---\n${not_searched}\n`)
    ? Promise.resolve('')
    : markdown.renderAsync(source, env);
}

/** Lets Vue treat two braces in text and inline code as text, because no page has an expression. */
function keepBraces({ renderer }: MarkdownRenderer): void {
  for (const name of ['text', 'code_inline'] as const) {
    const rule = renderer.rules[name]!;
    renderer.rules[name] = (...args) => rule(...args).replaceAll('{{', '&#123;&#123;');
  }
}

/** Moves each inline script of a page into a file. */
function moveScripts(html: string, file: string): string {
  return html.replaceAll(
    /<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g,
    (_, code: string) => `<script src="${writeAsset(file, withRoot(code), 'js')}"></script>`,
  );
}

/**
 * Finds the root of the site from the script, because one page answers wrong paths of any depth.
 */
function withRoot(code: string): string {
  return code.replace(
    /new URL\("[./]+",\s*location\)/,
    'new URL("../",document.currentScript.src)',
  );
}

/** Links the classes of code. The theme's own styles are in style.css, or set by its script. */
function withoutStyles(html: string, file: string): string {
  // Pages are rendered concurrently, so the order of the classes varies.
  const classes = styles.getCSS().match(/[^}]+\}/g) ?? [];
  const sheet = writeAsset(file, classes.toSorted().join(''), 'css');
  const icon = relative(dirname(file), join(built, 'icon.svg'));
  return html
    .replaceAll(/ style="(?:position:relative|--vp-vh:0px);"/g, '')
    .replace(
      '</head>',
      `<link rel="stylesheet" href="${sheet}">\n    <link rel="icon" href="${icon}">\n  </head>`,
    );
}

/** Writes a file whose name contains its hash, and returns its address from the page. */
function writeAsset(page: string, text: string, ending: string): string {
  const name = `assets/page-${hash('sha256', text, 'base64url').slice(0, 8)}.${ending}`;
  const path = join(built, name);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return relative(dirname(page), path);
}
