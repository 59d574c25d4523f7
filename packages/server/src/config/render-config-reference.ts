/** The settings for people: docs/configuration.md and the text of --help, both written from the schema. */
import { fallbackText, HARMLESS_SETTINGS, SETTINGS, type Setting } from './settings.ts';

export function renderConfigReference(): string {
  const rows = SETTINGS.map((setting) => {
    const { key, flag, variable, description } = setting;
    const choices = setting.choices
      ? ` One of ${setting.choices.map((choice) => `\`${choice}\``).join(', ')}.`
      : '';
    return `| \`${key}\` | \`${flag}\` | \`${variable}\` | ${shownDefault(setting)} | ${description}${choices} |`;
  });
  return `${HEAD}\n${rows.join('\n')}\n`;
}

/** How the server was started, for its help: the words before the settings, and whole lines that work. */
export interface Invocation {
  readonly command: string;
  readonly summary: string;
  readonly examples: readonly string[];
}

export const NPM_START: Invocation = {
  command: 'npm start --',
  summary: 'Starts a server with all its parts.',
  examples: ['npm start', 'npm start -- --port 8080 --data /var/lib/carillon'],
};

export function renderHelp({ command, summary, examples }: Invocation = NPM_START): string {
  const lines = SETTINGS.map((setting): [string, string] => {
    const fallback = setting.fallback === undefined ? '' : ` [${fallbackText(setting)}]`;
    return [`${setting.flag} ${HINTS[setting.kind]}`.trimEnd(), `${setting.description}${fallback}`];
  });
  lines.push(
    [
      '--config <file>',
      'Configuration file (JSON). [carillon.config.json, if it is there; then with harmless settings only]',
    ],
    ['--help', 'Show this text.'],
    ['--version', 'Show the version.'],
  );
  const width = Math.max(...lines.map(([left]) => left.length)) + 2;
  const body = lines.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
  return [
    `Usage: ${command} [settings]\n`,
    `${summary}\n`,
    `Settings:\n${body}\n`,
    'Each can also be set in the configuration file or as CARILLON_<NAME>.\n',
    `Examples:\n${examples.map((example) => `  ${example}`).join('\n')}\n`,
  ].join('\n');
}

const HINTS: Record<Setting['kind'], string> = {
  number: '<number>',
  text: '<text>',
  list: '<a,b,...>',
  switch: '',
};

function shownDefault(setting: Setting): string {
  return setting.fallback === undefined ? '' : `\`${fallbackText(setting)}\``;
}

const HEAD = `# Configuration

<!-- Generated from packages/server/src/config/config-schema.ts by renderConfigReference(). Do not edit. -->

Carillon runs without any configuration. What you set is taken, later ones winning, from

1. the defaults,
2. the file \`carillon.config.json\` in the working directory, or the one named by \`--config\` or \`CARILLON_CONFIG\`,
3. environment variables,
4. flags.

A file that is not named, and only found in the working directory, may have come with a cloned repository or an archive. So it is read only
when it belongs to you or to root, and may set no more than ${[...HARMLESS_SETTINGS].map((key) => `\`${key}\``).join(', ')}.
Any other setting in it stops the start: name the file with \`--config\` or \`CARILLON_CONFIG\` if it is yours.

A name that Carillon does not know stops the start with a message, wherever it stands. An empty environment variable counts as
not set. Lists are written as JSON arrays in the file, and separated by commas elsewhere. What is true or false is a flag without a
value (\`--metrics-open\`, or \`--metrics-open=false\`). In the file, a dot is an object inside an object:

\`\`\`json
{
  "port": 7420,
  "executor": { "slots": 64 }
}
\`\`\`

| setting | flag | environment variable | default | meaning |
|---|---|---|---|---|`;
