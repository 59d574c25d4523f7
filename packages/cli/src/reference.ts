/** docs/cli.md, rendered from the list of commands; a test compares the file with it. */
import { type CommandSpec, descriptionOf } from './command.ts';
import { allCommands } from './commands/all-commands.ts';
import { EXIT_MEANINGS } from './errors.ts';
import { type Flag, type Flags, GLOBAL_FLAGS } from './flags.ts';

export function renderCliReference(): string {
  const contents = allCommands.map(({ name, summary }) => `| [${name}](#${anchorOf(name)}) | ${summary} |`);
  const codes = EXIT_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return [
    HEAD,
    ...table('option', rowsOf(GLOBAL_FLAGS)),
    '## Exit codes\n',
    ['| code | meaning |', '|---|---|', ...codes].join('\n'),
    '\n## Commands\n',
    ['| command | what it does |', '|---|---|', ...contents].join('\n'),
    '',
    ...allCommands.map(section),
  ].join('\n');
}

function section(spec: CommandSpec): string {
  const { arguments: args = [], options } = spec;
  const argumentNames = args.map(({ name }) => ` ${name}`).join('');
  return [
    `### ${spec.name}`,
    '',
    proseText(descriptionOf(spec)),
    '',
    '```sh',
    `carillon ${spec.name}${argumentNames}${options ? ' [options]' : ''}`,
    '```',
    '',
    ...table('argument', args),
    ...table('option', rowsOf(options ?? {})),
    spec.examples.length > 1 ? 'Examples:' : 'Example:',
    '',
    '```sh',
    ...spec.examples,
    '```',
    '',
  ].join('\n');
}

type Row = Pick<Flag<unknown>, 'description' | 'choices' | 'fallback'> & { readonly name: string };

function rowsOf(flags: Flags): Row[] {
  return Object.values(flags).map((flag) => ({ ...flag, name: flag.flags }));
}

/** No lines where there are no rows. */
function table(heading: string, rows: readonly Row[]): string[] {
  const lines = rows.map((row) => `| \`${withoutBars(row.name)}\` | ${meaning(row)} |`);
  return rows.length === 0 ? [] : [`| ${heading} | meaning |`, '|---|---|', ...lines, ''];
}

function meaning({ description, choices, fallback }: Row): string {
  const words = choices ? `: ${choices.map((choice) => `\`${choice}\``).join(', ')}` : '';
  return `${withoutBars(proseText(description))}${words}${fallback === undefined ? '' : ` [\`${fallback}\`]`}`;
}

/** Text outside of code: what stands between backquotes is shown as it is. */
function proseText(text: string): string {
  const parts = text.split('`');
  return parts
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('*', '\\*')))
    .join('`');
}

/** In a table a bar ends the cell, also inside of code. */
function withoutBars(text: string): string {
  return text.replaceAll('|', '\\|');
}

function anchorOf(name: string): string {
  return name.replaceAll(' ', '-');
}

const HEAD = `# The carillon command

<!-- Generated from packages/cli/src by renderCliReference(). Do not edit. -->

\`carillon <command> --help\` shows the same in the terminal.

**How to get the command.** In a clone of the repository it is \`npx carillon\`, once \`npm start\` or \`npm install\` has fetched the packages;
before that, npx would look for a package of that name in the registry. The examples here say \`carillon\`:
\`alias carillon='npx --no-install carillon'\` makes them work as they are. In another project, install the tarball of \`npm run pack\`
([schedules kept in git](schedules-in-git.md#in-ci)).

**Where it connects to**, the first that is there: \`--url\`, \`--context\` or \`--data\`; \`CARILLON_URL\`; the context that
\`CARILLON_CONTEXT\` names; the current context (\`carillon context use\`, \`carillon login\`); the server that runs in the folder
\`.carillon\` here (or in \`CARILLON_DATA\`), with its admin key. A key that was found is only sent to the address it was found with;
with \`--url\` or \`CARILLON_URL\` that of a folder only when \`--data\` or \`CARILLON_DATA\` names the folder, too. \`--key\` and
\`CARILLON_KEY\` go to the address of \`--url\`, \`CARILLON_URL\` or a context, and never to one that a folder names. A folder counts
only when it is yours or root's and not writable by everybody, when no link leads to its files, when only its owner can read its
\`admin.key\` (\`chmod 600\`), and when its address is on this machine; root uses the folder of another user when \`--data\` names it.
One that was cloned, unpacked or copied counts only when \`--data\` or \`CARILLON_DATA\` names it, or once its server was started with
\`--trust-folder\` ([why](security.md#the-data-folder)). Before a password is asked for, the address it goes to is shown.

**Which job is meant**: its id, its key, its name if no other job has it, or the beginning of its id, at least 6 characters of it. The key or
name of a job also stands for its latest run (\`carillon runs logs nightly\`; with \`-f\`, the first one is waited for). Users and API keys are called by their names; runs, dead letters,
signing keys and workers by the beginning of their ids; what \`audit --subject\` asks for by either, also when it was removed. Names are looked up in the namespace that \`--namespace\` or the context says, and everywhere
with \`--all-namespaces\`. What fits several is refused with all of them. The \`user_id\` of a job may be a text of your own, which is no
user here: \`--user id:u003\` says it as it is.

**Contexts** are servers by name, kept in \`~/.config/carillon/contexts.json\`, which only you can read. The namespace of a context is
that of every command which lists or creates, unless \`--namespace\` names another one or \`--all-namespaces\` asks for all.

**What it prints**: tables and sentences for people, in colour on a terminal (\`NO_COLOR\` turns that off) and fitted to its width: the
least important columns are left out, then long texts are cut, ids never; those of workers, and of jobs in \`jobs list\`, are shown by their beginnings there. \`-o wide\` and pipes show everything. \`-o json\` (or \`--json\`) and
\`-o yaml\` print what the server answered: an array for lists, one object a line (one document in YAML) for what goes on (\`-f\`,
\`--watch\`, \`--wait\`) and for several ids. Results go to the standard output, everything else to the standard error; with \`--json\`
an error is one line \`{"error": {"code", "message", "fix", …}}\` there. On a terminal, work that takes long draws a bar there, and
waiting says for how long.

**Times** are those of this machine, with their offset from UTC (\`2030-07-01 08:00:00-04:00\`), or with \`--utc\` those of UTC (\`2030-07-01 12:00:00Z\`). A table that is
fitted to a terminal has no offsets and says its time zone below, on the standard error.

**What cannot be undone is asked first**: \`--yes\` answers, and without a terminal it is needed (exit code 2). Declining changes nothing.

**Values** of the API are written as the API does, in lower case with underscores; hyphens in their place are understood.

**Words for how it goes**: a job is \`scheduled\`, \`running\`, \`paused\`, \`completed\`, \`failed\` or \`cancelled\`: the words of the API in small
letters; \`--status\` also understands \`pending\` for scheduled. A run is QUEUED, CLAIMED, RUNNING, and in the end SUCCESS, FAILED,
TIMED_OUT, CANCELLED or SKIPPED. An attempt that its worker gave back is RETURNED, one whose worker fell silent LOST; its run goes on. The
attempt that follows has the same number, and is marked: \`attempt 1 (again)\`, or \`1+\` in lists that show both.

**Waiting** (\`--wait\`, \`--watch\`) ends with 0 when the job completed or the run succeeded, with 1 when it ended in any other way. Ctrl-C ends
the waiting with 130 and leaves the job alone; \`-f\` goes on until Ctrl-C.

**Help**: \`carillon help jobs create\` and \`carillon jobs create --help\` are the same. \`carillon completion\` teaches bash, zsh and fish the
words.

## Options of every command
`;
