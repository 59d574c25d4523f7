/** Copies a text, also on a page without TLS, where browsers offer no clipboard to scripts. */
import { Button } from '@mantine/core';
import { useEffect, useState } from 'react';

const SHOWN_MS = 1_500;

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button size="compact-xs" variant="default" onClick={() => void copy(text).then(setCopied)}>
      {copied ? 'Copied' : label}
    </Button>
  );
}

async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined)
    return await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
