/** Questions to the person at the terminal. A password is never shown; without a terminal it is the first line of input. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { World } from '../cli.ts';
import { UsageError } from '../program/usage-error.ts';

export async function ask(question: string, world: World): Promise<string> {
  requireTerminal(question, world);
  const lines = createInterface({ input: world.stdin, output: world.stderr });
  try {
    return (await lines.question(question)).trim();
  } finally {
    lines.close();
  }
}

export async function confirm(question: string, world: World): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `, world));
}

/** Without a terminal, the first lines of the standard input answer in order. */
export async function askPasswords(questions: readonly string[], world: World): Promise<string[]> {
  if (!world.stdin.isTTY) {
    const lines = (await readAll(world.stdin)).split(/\r?\n/);
    return questions.map((_, i) => lines[i] ?? '');
  }
  const answers: string[] = [];
  for (const question of questions) answers.push(await askHidden(question, world));
  return answers;
}

export async function askPassword(question: string, world: World): Promise<string> {
  const [answer = ''] = await askPasswords([question], world);
  return answer;
}

async function askHidden(question: string, world: World): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: world.stdin, output: nowhere, terminal: true });
  // Only now: before, the terminal itself would still show what is typed.
  world.stderr.write(question);
  try {
    return await lines.question('');
  } finally {
    lines.close();
    world.stderr.write('\n');
  }
}

/** All of the standard input, for `--file -`. */
export async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) text += String(chunk);
  return text;
}

function requireTerminal(question: string, { stdin }: World): void {
  if (stdin.isTTY) return;
  throw new UsageError(
    `There is nobody to ask: "${question.trim()}"`,
    'Give the answer as an option; --help shows them.',
  );
}
