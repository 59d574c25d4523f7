/**
 * The reflection protocol of gRPC, in both its versions: tools such as grpcurl find services and messages without the proto
 * files. Describes exactly what is served, from the same descriptors that the calls are read with.
 */
import { createRegistry, type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { SMALL_BODY_BYTES } from '../large-bodies.ts';
import { dialogue, type RpcMethod } from './rpc-method.ts';

type Question = rpc.reflectionV1.ServerReflectionRequest['messageRequest'];
/** The same in both versions, which differ in nothing but their name. */
type Answer =
  | { case: 'listServicesResponse'; value: { service: { name: string }[] } }
  | { case: 'fileDescriptorResponse'; value: { fileDescriptorProto: Uint8Array<ArrayBuffer>[] } }
  | { case: 'allExtensionNumbersResponse'; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: 'errorResponse'; value: { errorCode: number; errorMessage: string } };

const OF_REFLECTION: readonly DescService[] = [
  rpc.reflectionV1.ServerReflection,
  rpc.reflectionV1Alpha.ServerReflection,
];

export function reflectionMethods(services: readonly DescService[]): RpcMethod[] {
  const all = [...services, ...OF_REFLECTION];
  // Whoever has a key, since the paths of this server are nobody else's business.
  const access = 'self';
  const answer = answersAbout(all);
  return [
    dialogue(rpc.reflectionV1.ServerReflection.method.serverReflectionInfo, access, (request) => ({
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(request.messageRequest),
    })),
    dialogue(rpc.reflectionV1Alpha.ServerReflection.method.serverReflectionInfo, access, (request) => ({
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(request.messageRequest as Question),
    })),
    // A question is a name, and one may be asked after the other without end.
  ].map((method) => ({ ...method, readMaxBytes: SMALL_BODY_BYTES }));
}

function answersAbout(services: readonly DescService[]): (question: Question) => Answer {
  const files = new Map<string, DescFile>();
  const collect = (file: DescFile) => {
    if (files.has(fileName(file))) return;
    files.set(fileName(file), file);
    file.dependencies.forEach(collect);
  };
  for (const { file } of services) collect(file);
  const registry = createRegistry(...files.values());

  /** A service or message by its full name, or what lies within one: a method, a field, a value. */
  const fileOfSymbol = (symbol: string): DescFile | undefined => {
    const found = registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(symbol.lastIndexOf('.'), 0)));
    return found?.file;
  };
  return (question) => {
    switch (question.case) {
      case 'listServices': {
        const service = services.map(({ typeName: name }) => ({ name }));
        return { case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return described(files.get(question.value), question.value);
      case 'fileContainingSymbol':
        return described(fileOfSymbol(question.value), question.value);
      case 'allExtensionNumbersOfType':
        return registry.getMessage(question.value)
          ? {
              case: 'allExtensionNumbersResponse',
              value: { baseTypeName: question.value, extensionNumber: [] },
            }
          : notFound(question.value);
      case 'fileContainingExtension':
        return notFound(`an extension of ${question.value.containingType}`);
      default:
        return failed(Code.InvalidArgument, 'The question is empty.');
    }
  };
}

/** The file and all it needs, so that one answer is enough. */
function described(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) return notFound(asked);
  const seen = new Set<DescFile>();
  const needed: DescFile[] = [];
  const collect = (one: DescFile) => {
    if (seen.has(one)) return;
    seen.add(one);
    one.dependencies.forEach(collect);
    needed.push(one);
  };
  collect(file);
  // The file that was asked for comes first, and each before those that it imports.
  const fileDescriptorProto = needed.reverse().map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function notFound(asked: string): Answer {
  return failed(Code.NotFound, `There is no ${asked.slice(0, 200)} here.`);
}

function failed(errorCode: Code, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } };
}

/** Descriptors leave the ending out of their names; reflection wants it. */
function fileName(file: DescFile): string {
  return file.proto.name;
}
