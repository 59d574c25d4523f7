/**
 * A handler in a package of its own, without any dependency. The default export is a function: Carillon calls it with the options of
 * the settings, and offers the handler that it answers.
 */
export default function countWords({ locale = 'en' } = {}) {
  const segmenter = new Intl.Segmenter(locale, { granularity: 'word' });
  return {
    name: 'count-words',
    description: 'Counts the words of a text.',
    // Jobs whose payload does not fit are refused when they are submitted.
    parameters: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 1, description: 'What is counted.' },
        at_least: { type: 'integer', minimum: 0, description: 'The run fails with fewer words.' },
      },
      required: ['text'],
      additionalProperties: false,
    },
    run({ payload, signal, log, progress }) {
      const { text, at_least: atLeast = 0 } = payload;
      let words = 0;
      for (const { isWordLike, index } of segmenter.segment(text)) {
        signal.throwIfAborted();
        if (isWordLike) words += 1;
        if (index % 10_000 === 0) progress((100 * index) / text.length);
      }
      log.info(`${words} words`);
      // The same text has as few words the next time: a retry cannot help.
      if (words < atLeast)
        throw Object.assign(new Error(`only ${words} of ${atLeast} words`), { retryable: false });
      return { words };
    },
  };
}
