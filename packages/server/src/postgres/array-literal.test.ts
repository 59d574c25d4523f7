import { describe, expect, it } from 'vitest';
import { plainArray, sparse, textArray } from './array-literal.ts';

describe('a plain array', () => {
  it('joins numbers, booleans and words, with NULL for what is missing', () => {
    expect(plainArray([1, -2.5, true, 'word', null, undefined])).toBe('{1,-2.5,true,word,NULL,NULL}');
  });

  it('of nothing is empty', () => {
    expect(plainArray([])).toBe('{}');
  });

  it('keeps zero and false, which are values', () => {
    expect(plainArray([0, false])).toBe('{0,false}');
  });
});

describe('a text array', () => {
  it('quotes every value, so that the word NULL and the empty string are texts', () => {
    expect(textArray(['NULL', '', 'a,b', '{}', null, undefined])).toBe('{"NULL","","a,b","{}",NULL,NULL}');
  });

  it('escapes quotes and backslashes and nothing else', () => {
    expect(textArray(['say "hi"', 'C:\\dir', "it's"])).toBe('{"say \\"hi\\"","C:\\\\dir","it\'s"}');
  });
});

describe('a sparse column', () => {
  it('is NULL as a whole when it is empty', () => {
    expect(sparse([undefined, undefined], textArray)).toBeNull();
    expect(sparse([], textArray)).toBeNull();
  });

  it('is an array as soon as it has one value, be it false or empty', () => {
    expect(sparse([undefined, ''], textArray)).toBe('{NULL,""}');
    expect(sparse([0, undefined], plainArray)).toBe('{0,NULL}');
  });
});
