/** A job as a command of curl, of the command line, or in TypeScript, to be copied. */
import { Code, Group, SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { BASE_URL } from '../../api/carillon.ts';
import { useCaller } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { type CommandSubject, cliCommand, curlCommand, flagsAt, typescriptCode } from './commands.ts';
import type { Body } from './job-body.ts';

const LANGUAGES = ['curl', 'CLI', 'TypeScript'] as const;
type Language = (typeof LANGUAGES)[number];
const RENDER: Record<Language, (subject: CommandSubject) => string> = {
  curl: curlCommand,
  CLI: cliCommand,
  TypeScript: typescriptCode,
};

export function CopyAs({
  body,
  jobId,
  title = 'As a command',
}: {
  body: Body;
  jobId?: string | undefined;
  title?: string;
}) {
  const [language, setLanguage] = useState<Language>('curl');
  const commandFlags = flagsAt(BASE_URL, useCaller()?.command_flags);
  const text = RENDER[language]({ url: BASE_URL.href.replace(/\/$/, ''), body, jobId, commandFlags });
  return (
    <Card title={title} actions={<CopyButton text={text} />}>
      <Group>
        <SegmentedControl
          size="xs"
          aria-label="Language"
          data={[...LANGUAGES]}
          value={language}
          onChange={(chosen) => setLanguage(chosen as Language)}
        />
      </Group>
      <Code block tabIndex={0} mah={320} aria-label={`As ${language}`}>
        {text}
      </Code>
    </Card>
  );
}
