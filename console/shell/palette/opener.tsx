import IconCommand from 'icon:command';
import { Suspense, useEffect, useEffectEvent, useState } from 'react';
import { loadedLater } from '../../page/load_page.tsx';
import { MissingDialog } from '../../page/missing_dialog.tsx';

const Palette = loadedLater(() => import('./palette.tsx'), 'Palette', MissingDialog);

const is_apple = /Mac|iP/.test(navigator.userAgent);

/**
 * Opens the command palette with Ctrl-K, or Cmd-K on Apple machines; its code is loaded on demand.
 */
export function usePalette(): { open: () => void; palette: React.ReactNode } {
  const [is_open, setOpen] = useState(false);
  const open = () => {
    // Loads the code again if it failed before.
    void Palette.preload();
    setOpen(true);
  };
  const opens = useEffectEvent(open);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const is_meant = is_apple ? event.metaKey : event.ctrlKey;
      if (!is_meant || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      // An open dialog stays in front.
      if (document.querySelector('dialog[open], [aria-modal=true]') === null) opens();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return {
    open,
    palette: is_open && (
      <Suspense>
        <Palette close={() => setOpen(false)} />
      </Suspense>
    ),
  };
}

/** A button for it in the navigation, for people who do not know the keys. */
export function PaletteButton({ open }: { open: () => void }) {
  return (
    <button
      type="button"
      className="place opener"
      onClick={open}
      aria-keyshortcuts={is_apple ? 'Meta+K' : 'Control+K'}
    >
      <IconCommand size={17} stroke={1.6} aria-hidden />
      <span>Go to…</span>
      <kbd>{is_apple ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  );
}
