"""`python main.py --url host:port --key KEY`: a worker with the handlers of handlers.py. SIGTERM and Ctrl-C drain it."""

import argparse
import asyncio
import os
import re
import signal
import socket
import sys

from handlers import HANDLERS

# Else gRPC writes lines of its own about every connection that fails, beside what this worker says.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


HOST = r"(?:\[[^]]+\]|[^:/]+)"


def parse_arguments():
    parser = argparse.ArgumentParser(description="A worker of Carillon.")
    parser.add_argument("--url", action="append", metavar="HOST:PORT", help="a server; may be given several times")
    parser.add_argument("--key", default=os.environ.get("CARILLON_KEY", ""), help="a worker key, or CARILLON_KEY")
    parser.add_argument("--handlers", metavar="NAMES", help="offers only these, with commas (all)")
    parser.add_argument("--slots", type=int, default=4, help="how many runs it executes at a time (4)")
    parser.add_argument("--name", default=socket.gethostname(), help="for people (the host name)")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help="may be given several times")
    parser.add_argument("--drain-seconds", type=float, default=30.0, help="what runs go on for after SIGTERM (30)")
    for name, text in (
        ("ca", "the certificate authority of the servers; turns TLS on, as https:// does"),
        ("cert", "the certificate of this worker, for servers that want one"),
        ("key", "its private key"),
    ):
        variable = f"CARILLON_TLS_{name.upper()}"
        parser.add_argument(f"--tls-{name}", metavar="FILE", default=os.environ.get(variable), help=f"{text}; or {variable}")
    arguments = parser.parse_args()
    if not arguments.key:
        parser.error("no key: give --key, or set CARILLON_KEY")
    unknown = sorted(set(names_of(arguments)) - set(HANDLERS))
    if unknown:
        parser.error(f"no handler is called {unknown[0]}; there are {', '.join(sorted(HANDLERS))}")
    if bool(arguments.tls_cert) != bool(arguments.tls_key):
        parser.error("--tls-cert and --tls-key are given together")
    if arguments.slots < 1:
        parser.error("--slots must be at least 1")
    wrong = next((url for url in arguments.url or () if address_of(url) is None), None)
    if wrong is not None:
        host = host_of(wrong) if re.fullmatch(HOST, host_of(wrong)) else "127.0.0.1"
        parser.error(f"--url {wrong}: host:port wanted, such as {host}:7420")
    if any("=" not in label for label in arguments.label):
        parser.error("a label is written NAME=VALUE")
    return arguments


def address_of(url):
    """host:port. None: it names no port; https:// alone has one by itself."""
    is_secure, host = url.startswith("https://"), host_of(url)
    if re.fullmatch(rf"{HOST}:\d+", host):
        return host
    return f"{host}:443" if is_secure and re.fullmatch(HOST, host) else None


def host_of(url):
    return url.split("://")[-1].rstrip("/")


def names_of(arguments):
    return arguments.handlers.split(",") if arguments.handlers else list(HANDLERS)


def read(path):
    with open(path, "rb") as file:
        return file.read()


async def work(arguments):
    # Here and not above: the processes of runs load this file too, and need none of it.
    import grpc

    from session import Options, Refused, Worker

    urls = arguments.url or ["127.0.0.1:7420"]
    paths = (arguments.tls_ca, arguments.tls_key, arguments.tls_cert)

    def tls():
        return grpc.ssl_channel_credentials(*(read(path) if path else None for path in paths))

    is_secure = any(paths) or any(url.startswith("https://") for url in urls)
    try:
        tls()
    except OSError as error:
        print(f"{error.filename} cannot be read: {error.strerror}", file=sys.stderr)
        return 1
    options = Options(
        servers=tuple(address_of(url) for url in urls),
        key=arguments.key,
        slots=arguments.slots,
        name=arguments.name,
        labels=tuple(tuple(label.split("=", 1)) for label in arguments.label),
        drain_seconds=arguments.drain_seconds,
        tls=tls if is_secure else None,
    )
    offered = {name: HANDLERS[name] for name in names_of(arguments)}
    worker = Worker(options, offered, say=lambda text: print(text, file=sys.stderr, flush=True))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.drain)
    try:
        all_told = await worker.run()
    except Refused as error:
        print(f"the server refuses this worker: {error}", file=sys.stderr)
        return 1
    return 0 if all_told else 1


if __name__ == "__main__":
    code = asyncio.run(work(parse_arguments()))
    sys.stderr.flush()
    os._exit(code)
