import { expect, test } from 'vitest';
import { scanImports } from './scan-imports.ts';

test('every form of import is seen', () => {
  const source = `
    import one from 'one';
    import { two, type Two } from "two";
    import type { Three } from 'three';
    import * as four from './four.ts';
    import './five.ts';
    export { six } from './six.ts';
    export * from './seven.ts';
    export type { Eight } from './eight.ts';
    const nine = await import('./nine.ts');
    type Ten = import('./ten.ts').Ten;
    import {
      eleven,
    } from './eleven.ts';`;
  expect(scanImports(source)).toEqual([
    ...['one', 'two', 'three', './four.ts', './five.ts', './six.ts', './seven.ts', './eight.ts'],
    ...['./nine.ts', './ten.ts', './eleven.ts'],
  ]);
});

test('a module imported twice is one import', () => {
  expect(scanImports(`import { a } from 'x'; import type { B } from 'x';`)).toEqual(['x']);
});

test.each([
  ['a line comment', `// import { a } from 'x';\n`],
  ['a block comment', `/* import 'x' */`],
  ['a string', `const text = "import { a } from 'x'";`],
  ['a string with an escaped quote', `const text = 'it\\'s import "x"';`],
  ['a template', "const sql = `SELECT a from 'x'`;"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code to be scanned.
  ['a template with a value in it', "const sql = `${a} from 'x' ${b} import 'y'`;"],
  ['a regular expression', `const pattern = /from '/; const other = 'x';`],
  ['a class of characters with a slash', `const pattern = /[/'"]/g; const other = 'from'; f('x');`],
  ['a method that is called import or from', `Array.from('x'); loader.import('y');`],
])('what stands in %s is not an import', (_, source) => {
  expect(scanImports(source)).toEqual([]);
});

test('code inside a template is code', () => {
  expect(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code to be scanned.
    scanImports("const a = `x ${await import('./in.ts')} from 'y' ${{ b: `${1}` }.b}`; import 'z';"),
  ).toEqual(['./in.ts', 'z']);
});

test('a division does not hide the import after it', () => {
  expect(scanImports(`const half = (a + b) / 2; const c = d[0] / e; import 'x';`)).toEqual(['x']);
});
