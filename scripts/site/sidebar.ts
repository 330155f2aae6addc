/** A group of the navigation, and its pages as paths of the repository's docs/. */
export type Group = { text: string; items: { text: string; link: string }[] };

/**
 * Reads the navigation from docs/README.md: each heading is a group, and each page in its list is
 * an entry with the text of the link.
 */
export function readGroups(text: string): Group[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [title, ...lines] = part.split('\n');
      const links = lines.join(' ').matchAll(/\[((?:[^\]\\]|\\.)+)\]\(([^)\s]+\.md)(?:#[^)]*)?\)/g);
      const items = [...links].map(([, label, link]) => ({
        text: upperFirst(label!.replaceAll(/\s+/g, ' ').replaceAll('`', '')),
        link: link!,
      }));
      return { text: title!.trim(), items };
    });
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
