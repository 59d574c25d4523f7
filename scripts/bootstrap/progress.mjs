// Says what takes long: a line that counts seconds on a terminal, plain lines elsewhere, so that nobody watches a
// silent prompt and no log fills with control characters. Everything goes to stderr: stdout belongs to the command.

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const TERMINAL_STEP_MS = 120;
const PLAIN_STEP_MS = 10_000;

/** Runs `work` while saying `label`; the last line tells how long it took, or that it failed. */
export async function withProgress(label, work) {
  const { stderr } = process;
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  let frame = 0;
  const onTerminal = stderr.isTTY === true;
  if (!onTerminal) stderr.write(`carillon: ${label} …\n`);
  const timer = setInterval(
    () => {
      if (onTerminal) stderr.write(`\r\x1b[K${FRAMES[frame++ % FRAMES.length]} ${label} … ${seconds()} s`);
      else stderr.write(`carillon: ${label} … ${seconds()} s so far\n`);
    },
    onTerminal ? TERMINAL_STEP_MS : PLAIN_STEP_MS,
  );
  const finish = (word) => {
    clearInterval(timer);
    stderr.write(`${onTerminal ? '\r\x1b[K' : ''}carillon: ${label}: ${word} ${seconds()} s\n`);
  };
  try {
    const result = await work();
    finish('done in');
    return result;
  } catch (error) {
    finish('failed after');
    throw error;
  }
}
