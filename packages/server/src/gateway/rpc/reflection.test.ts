import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeAll(async () => {
  gateway = await RpcFixture.start();
});
afterAll(() => gateway.stop());

describe.each([
  ['v1', rpc.reflectionV1.ServerReflection],
  ['v1alpha', rpc.reflectionV1Alpha.ServerReflection as unknown as typeof rpc.reflectionV1.ServerReflection],
])('reflection %s', (_version, service) => {
  type Question = rpc.reflectionV1.ServerReflectionRequest['messageRequest'];

  async function ask(question: Question) {
    const answers = gateway.client(service).serverReflectionInfo(once({ messageRequest: question }));
    for await (const { messageResponse } of answers) return messageResponse;
    throw new Error('no answer');
  }

  test('lists every service that is served', async () => {
    const answer = await ask({ case: 'listServices', value: '' });
    const { service: listed } = answer.value as rpc.reflectionV1.ListServiceResponse;
    const served = new Set(gateway.methods.map(({ method }) => method.parent.typeName));
    expect(listed.map(({ name }) => name).sort()).toEqual([...served].sort());
  });

  test.each(['carillon.v1.JobService', 'carillon.v1.JobService.SubmitJob', 'carillon.v1.Job'])(
    'describes %s with all it needs',
    async (symbol) => {
      const answer = await ask({ case: 'fileContainingSymbol', value: symbol });
      const { fileDescriptorProto } = answer.value as rpc.reflectionV1.FileDescriptorResponse;
      const file = fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
      const set = { $typeName: FileDescriptorSetSchema.typeName, file: file.reverse() };
      expect(createFileRegistry(set).getMessage('carillon.v1.Job')).toBeDefined();
    },
  );

  test('describes a file by its name', async () => {
    expect((await ask({ case: 'fileByFilename', value: 'google/protobuf/struct.proto' })).case).toBe(
      'fileDescriptorResponse',
    );
  });

  test('says so when there is none', async () => {
    for (const question of [
      { case: 'fileContainingSymbol', value: 'no.such.Thing' },
      { case: 'fileByFilename', value: '../../etc/passwd' },
      { case: 'allExtensionNumbersOfType', value: 'no.such.Thing' },
    ] as const) {
      const answer = await ask(question);
      expect(answer).toMatchObject({ case: 'errorResponse', value: { errorCode: Code.NotFound } });
    }
  });

  test('needs a key', async () => {
    const stranger = gateway.client(service, { key: null });
    const answers = stranger.serverReflectionInfo(once({}))[Symbol.asyncIterator]();
    expect((await refusalOf(answers.next())).status).toBe(Code.Unauthenticated);
  });
});

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}
