import { Button } from '@mantine/core';
import IconCode from 'icon:code';
import { useState } from 'react';
import { server_address } from '../http/address.ts';
import { Command } from './command.tsx';
import { Dialog } from './dialog.tsx';

/** A quiet button that shows the page's request for programs. */
export function AsCurl({ path }: { path: string }) {
  const [is_shown, show] = useState(false);
  return (
    <>
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        title="As curl"
        aria-label="As curl"
        onClick={() => show(true)}
      >
        <IconCode size={16} aria-hidden />
      </Button>
      {is_shown && <CurlDialog path={path} close={() => show(false)} />}
    </>
  );
}

/** Shows the command in a dialog, for pages whose menu has it. */
export function CurlDialog({ path, close }: { path: string; close: () => void }) {
  return (
    <Dialog title="As curl" close={close}>
      <p>This command reads the data of this page. Replace $KEY with one of your API keys:</p>
      <Command what="the request of this page" text={curl(path)} />
      <div className="answers">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

/** Returns the curl command for an API path. */
export function curl(path: string): string {
  return `curl -H "Authorization: Bearer $KEY" \\\n  '${server_address}${path}'`;
}
