import { ActionIcon, Drawer } from '@mantine/core';
import { IconMenu2 } from '@tabler/icons-react';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Navigation } from './navigation.tsx';

/** Navigation, and beside it the page; on narrow screens the navigation is behind a button. */
export function Frame() {
  const [is_open, setOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="frame">
      <a className="unseen skip" href="#main">
        To the content
      </a>
      <div className="side">
        <Navigation />
      </div>
      <div className="top">
        <ActionIcon variant="subtle" aria-label="Navigation" onClick={() => setOpen(true)}>
          <IconMenu2 size={18} aria-hidden />
        </ActionIcon>
        <p className="brand">Sluice</p>
      </div>
      <Drawer opened={is_open} onClose={() => setOpen(false)} title="Navigation" size={260}>
        <Navigation />
      </Drawer>
      <main className="main" id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}
