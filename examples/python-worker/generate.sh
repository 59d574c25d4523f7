#!/bin/sh
# Writes the stubs of the published proto file again, beside this script or in the folder named.
set -eu
cd "$(dirname "$0")"
"${PYTHON:-python3}" -m grpc_tools.protoc --proto_path=../../packages/contract/proto \
  --python_out="${1:-.}" --grpc_python_out="${1:-.}" carillon/worker/v1/workers.proto
