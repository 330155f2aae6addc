// oxlint-disable typescript/consistent-type-imports -- A declared module imports nothing by path.
/** An icon of Tabler, which the build makes a module (`scripts/package/icons.ts`). */
declare module 'icon:*' {
  const icon: import('./page/icon.tsx').Icon;
  export default icon;
}
