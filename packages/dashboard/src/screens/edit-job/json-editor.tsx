/**
 * An editor for the JSON of a job. It is a chunk of its own, which is read when somebody opens it. Colours follow the page: marks are
 * classes, and their colours are in the style sheet.
 */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, indentOnInput, syntaxTree } from '@codemirror/language';
import { EditorState, type Range } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { useEffect, useRef } from 'react';
import classes from './json-editor.module.css';

interface JsonEditorProps {
  readonly value: string;
  readonly label: string;
  readonly onChange: (text: string) => void;
}

export default function JsonEditor({ value, label, onChange }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const tell = useRef(onChange);
  tell.current = onChange;
  // The editor holds its own text; what comes from outside is written into it below.
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once, with the text of that time.
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({ doc: value, extensions: extensions(label, (text) => tell.current(text)) }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={host} className={classes.host} />;
}

function extensions(label: string, onText: (text: string) => void) {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
  return [
    // The content policy of the page lets in styles with this mark alone.
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    json(),
    marks,
    // Tab moves on to the next control, as everywhere on the page.
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString());
    }),
  ];
}

/** The classes of parts of JSON. */
const MARKS: Readonly<Record<string, Decoration>> = Object.fromEntries(
  Object.entries({
    PropertyName: classes.property,
    String: classes.string,
    Number: classes.number,
    True: classes.word,
    False: classes.word,
    Null: classes.word,
  }).map(([node, name]) => [node, Decoration.mark({ class: name ?? '' })]),
);

const marks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = marksOf(view);
    }
    update(update: ViewUpdate) {
      if (
        update.docChanged ||
        update.viewportChanged ||
        syntaxTree(update.state) !== syntaxTree(update.startState)
      )
        this.decorations = marksOf(update.view);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

function marksOf(view: EditorView): DecorationSet {
  const found: Range<Decoration>[] = [];
  for (const { from, to } of view.visibleRanges)
    syntaxTree(view.state).iterate({
      from,
      to,
      enter: ({ name, from: start, to: end }) => {
        const mark = MARKS[name];
        if (mark && end > start) found.push(mark.range(start, end));
      },
    });
  return Decoration.set(found, true);
}
