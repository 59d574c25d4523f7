/** Questions to the person at the terminal. A password is never shown; without a terminal it is read from the standard input. */
import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { World } from '../cli.ts';
import { Interrupted, UsageError } from '../errors.ts';

export async function ask(
  question: string,
  world: World,
  fix = 'Give the answer as an option; --help shows them.',
): Promise<string> {
  if (!world.stdin.isTTY) throw new UsageError(`There is nobody to ask: "${question.trim()}"`, fix);
  const lines = createInterface({ input: world.stdin, output: world.stderr });
  try {
    return (await answerTo(question, lines, world)).trim();
  } catch (error) {
    if (error instanceof Interrupted) world.stderr.write('\n');
    throw error;
  } finally {
    lines.close();
  }
}

export async function confirm(question: string, world: World): Promise<boolean> {
  const fix = 'Give --yes where nobody is to be asked.';
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `, world, fix));
}

/** Without a terminal, the first lines of the standard input are the answers, in order. */
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
    return await answerTo('', lines, world);
  } finally {
    lines.close();
    world.stderr.write('\n');
  }
}

/** What was typed or piped in before it was asked for: whole lines, and the beginning of one. The next questions get it. */
interface TypedAhead {
  readonly lines: string[];
  begun: string;
}

const TYPED_AHEAD = new WeakMap<NodeJS.ReadStream, TypedAhead>();

/** Ctrl-C and Ctrl-D close the question without an answer: without the signal it would stay open forever. */
async function answerTo(question: string, lines: Interface, { stdin, stderr }: World): Promise<string> {
  const ahead = TYPED_AHEAD.get(stdin) ?? { lines: [], begun: '' };
  TYPED_AHEAD.set(stdin, ahead);
  const early = ahead.lines.shift();
  if (early !== undefined) {
    if (question !== '') stderr.write(`${question}\n`);
    return early;
  }
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  // One chunk may hold several lines: those after the answer are no answer to this question.
  lines.on('line', (line) => void ahead.lines.push(line));
  const answered = lines.question(question, { signal: closed.signal });
  const { begun } = ahead;
  ahead.begun = '';
  if (begun !== '') lines.write(begun);
  const answer = await answered.catch((error: unknown) => {
    throw closed.signal.aborted ? new Interrupted() : error;
  });
  ahead.begun = lines.line;
  return answer;
}

export async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) text += String(chunk);
  return text;
}
