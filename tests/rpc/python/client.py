"""A stock gRPC client: talks to a running server with stubs made from the published proto files, and prints what it saw.

Usage: client.py <target> <key> <address to call> [<file with the certificate to trust>]
"""

import json
import sys
import threading

import grpc
from google.protobuf import struct_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

from carillon.v1 import accounts_pb2, accounts_pb2_grpc, audit_pb2, audit_pb2_grpc
from carillon.v1 import error_detail_pb2, jobs_pb2, jobs_pb2_grpc, resources_pb2

WAIT_SECONDS = 30


class WithKey(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds the key to every call."""

    def __init__(self, key):
        self.metadata = [("authorization", f"Bearer {key}")]

    def _call(self, continuation, details, request):
        details = details._replace(metadata=[*(details.metadata or []), *self.metadata])
        return continuation(details, request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = _call


def tell(what, value):
    print(json.dumps({"what": what, "value": value}), flush=True)


def refusal(call):
    try:
        call()
    except grpc.RpcError as error:
        detail = error_detail_pb2.ErrorDetail()
        status = rpc_status.from_call(error)
        if status is not None and status.details:
            status.details[0].Unpack(detail)
        return {
            "status": error.code().name,
            "message": error.details(),
            "code": detail.code,
            "field": detail.field,
            "fix": detail.fix,
        }
    return None


def payload(**fields):
    struct = struct_pb2.Struct()
    struct.update(fields)
    return struct


def watch_status(jobs, job_id, wanted):
    seen = []
    waiting = threading.Event()
    for _ in range(WAIT_SECONDS * 10):
        status = jobs.GetJobStatus(jobs_pb2.GetJobStatusRequest(job_id=job_id)).status.status
        if not seen or seen[-1] != status:
            seen.append(status)
        if status == wanted:
            break
        waiting.wait(0.1)
    return seen


def main(target, key, address, trusted=None):
    if trusted is None:
        channel = grpc.insecure_channel(target)
    else:
        with open(trusted, "rb") as file:
            channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(file.read()))
    stranger = jobs_pb2_grpc.JobServiceStub(channel)
    health = health_pb2_grpc.HealthStub(channel)
    status = health.Check(health_pb2.HealthCheckRequest(service="carillon.v1.JobService")).status
    tell("health", health_pb2.HealthCheckResponse.ServingStatus.Name(status))
    tell("stranger", refusal(lambda: stranger.ListJobs(jobs_pb2.ListJobsRequest())))

    known = grpc.intercept_channel(channel, WithKey(key))
    jobs = jobs_pb2_grpc.JobServiceStub(known)
    tell("services", sorted(ProtoReflectionDescriptorDatabase(known).get_services()))

    # A job that runs at once, followed by its events and by its status.
    watched = jobs.WatchEvents(jobs_pb2.WatchEventsRequest(types=["run"]))
    first = next(watched)
    tell("watching", not first.HasField("event"))
    job_id = jobs.SubmitJob(
        jobs_pb2.SubmitJobRequest(user_id="python", code_location=address, name="once", payload=payload(method="POST"))
    ).job_id
    tell("statuses", watch_status(jobs, job_id, "completed"))
    for message in watched:
        if message.HasField("event") and message.event.data["job_id"] == job_id:
            tell("event", [message.event.type, message.event.data["handler"]])
            if message.event.type.endswith("succeeded"):
                break
    watched.cancel()
    history = jobs.GetExecHistory(jobs_pb2.GetExecHistoryRequest(job_id=job_id)).runs
    tell("history", [[run.status, run.attempt_number, run.HasField("start_time")] for run in history])

    # A job with a schedule, listed, previewed, cancelled and removed.
    schedule = resources_pb2.Schedule(cron_expression="*/2 * * * *", time_zone="Europe/Paris")
    daily = jobs.SubmitJob(
        jobs_pb2.SubmitJobRequest(user_id="python", schedule=schedule, code_location=address, labels={"from": "python"})
    ).job_id
    listed = jobs.ListJobs(jobs_pb2.ListJobsRequest(user_id="python", labels={"from": "python"}, include=["payload"])).jobs
    tell("listed", [[job.job_id == daily, job.schedule.cron_expression, job.payload["url"] == address] for job in listed])
    everything = jobs.RetrieveAllJobs(jobs_pb2.RetrieveAllJobsRequest(user_id="python"))
    tell("retrieved", sorted(answer.job.job_id for answer in everything) == sorted([job_id, daily]))
    soon = jobs.GetJobsInNext5Mins(jobs_pb2.GetJobsInNext5MinsRequest()).jobs
    tell("upcoming", sum(1 for job in soon if job.job_id == daily) >= 2)
    preview = jobs.PreviewSchedule(jobs_pb2.PreviewScheduleRequest(schedule=schedule, count=3))
    tell("preview", [len(preview.fires), preview.time_zone, preview.description != ""])
    jobs.CancelJob(jobs_pb2.CancelJobRequest(job_id=daily))
    tell("cancelled", watch_status(jobs, daily, "cancelled"))
    tell(
        "not theirs",
        refusal(lambda: jobs.DeleteJob(jobs_pb2.DeleteJobRequest(user_id="somebody else", job_id=daily))),
    )
    jobs.DeleteJob(jobs_pb2.DeleteJobRequest(user_id="python", job_id=daily))
    tell("removed", refusal(lambda: jobs.GetJob(jobs_pb2.GetJobRequest(job_id=daily))))

    bad = resources_pb2.Schedule(cron_expression="61 * * * *")
    tell(
        "bad schedule",
        refusal(lambda: jobs.SubmitJob(jobs_pb2.SubmitJobRequest(schedule=bad, code_location=address))),
    )
    # Many jobs at once; and a key that is made, used, found in the audit log and revoked.
    paused = jobs.BulkChangeJobs(
        jobs_pb2.BulkChangeJobsRequest(action="pause", filter=jobs_pb2.JobFilter(user_id="nobody"), dry_run=True)
    )
    tell("bulk", [paused.matched, paused.changed])
    lines = jobs.GetJobLogs(jobs_pb2.GetJobLogsRequest(job_id=job_id)).lines
    tell("log", any(line.message.startswith("attempt 1 ended: SUCCESS") for line in lines))
    accounts = accounts_pb2_grpc.AccountServiceStub(known)
    made = accounts.CreateKey(accounts_pb2.CreateKeyRequest(name="from python", namespace="default", role="viewer"))
    reader = grpc.intercept_channel(channel, WithKey(made.secret))
    caller = accounts_pb2_grpc.AccountServiceStub(reader).GetCaller(accounts_pb2.GetCallerRequest()).caller
    tell("caller", [caller.kind, caller.name, [[grant.namespace, grant.role] for grant in caller.grants]])
    entries = audit_pb2_grpc.AuditServiceStub(known).ListAuditEntries(
        audit_pb2.ListAuditEntriesRequest(subject_id=made.key.key_id)
    ).entries
    tell("audit", [[entry.action, entry.after["name"]] for entry in entries])
    accounts.RevokeKey(accounts_pb2.RevokeKeyRequest(key_id=made.key.key_id))
    revoked = accounts_pb2_grpc.AccountServiceStub(reader)
    tell("revoked", refusal(lambda: revoked.GetCaller(accounts_pb2.GetCallerRequest())))
    tell("too late", refusal(lambda: jobs.ListJobs(jobs_pb2.ListJobsRequest(), timeout=0.000001)))
    channel.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
