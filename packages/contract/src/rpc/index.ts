export * from './generated/carillon.ts';
export * as health from './generated/grpc/health/v1/health_pb.js';
export * as reflectionV1 from './generated/grpc/reflection/v1/reflection_pb.js';
export * as reflectionV1Alpha from './generated/grpc/reflection/v1alpha/reflection_pb.js';
export * from './job-fields.ts';
export * from './messages.ts';
export * from './status-of.ts';
